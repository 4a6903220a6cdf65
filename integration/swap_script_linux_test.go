// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// zramScript is what sets swap on zram up and looks at it, as administrators write
// it. Its arguments are the device and the directory of its attributes: all that
// differs between the kernel's zram and zramfs.
const zramScript = `set -eu
mkswap "$1" >/dev/null
swapon --priority 50 "$1"
awk -v dev="$1" '$1 == dev { print "swap of", $3, "KiB, priority", $5 }' /proc/swaps
swapoff "$1"
awk '{ print NF, "figures,", ($1 > 0 && $3 >= $2) ? "sane" : $0 }' "$2/mm_stat"
echo "disksize $(cat "$2/disksize"), initstate $(cat "$2/initstate")"
grep -o '\[[a-z0-9]*\]' "$2/comp_algorithm"
`

// F069: zramfs takes kernel zram's place in a script that sets swap up. The same
// script prints the same for both.
func TestSwapF069SetUpScript(t *testing.T) {
	require.FUSE(t)
	require.Loop(t)
	for _, program := range []string{"sh", "awk", "mkswap", "swapon", "swapoff", "losetup"} {
		require.Command(t, program)
	}
	number := hotAdd(t, "lz4", "64M")
	dir := mount(t, "--size", "64M", "--algorithm", "lz4")
	guardSwap(t, dir)
	loop := attachments["losetup"](t, dir)

	kernel := system(t, commandTimeout, "sh", "-c", zramScript, "zram.sh", "/dev/zram"+number, "/sys/block/zram"+number)
	ours := system(t, commandTimeout, "sh", "-c", zramScript, "zram.sh", loop, dir+"/block/zram0")
	want := fmt.Sprintf("swap of %d KiB, priority 50\n9 figures, sane\ndisksize %d, initstate 1\n[lz4]\n", 64<<10-4, 64<<20)
	if kernel != want || ours != want {
		t.Errorf("of the kernel's zram it says\n%s\nof zramfs\n%s\nwant\n%s", kernel, ours, want)
	}
	system(t, commandTimeout, "losetup", "-d", loop)
	mustRun(t, commandTimeout, "umount", dir)
}
