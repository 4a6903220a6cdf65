// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// F071: what mount serves works with the losetup, mkswap, swapon and swapoff of
// util-linux.
func TestSwapF071UtilLinux(t *testing.T) {
	require.FUSE(t)
	require.Loop(t)
	for _, program := range []string{"losetup", "mkswap", "swapon", "swapoff"} {
		require.Command(t, program)
	}
	m := startMemory(t, memoryOrder{Pages: 32 << 20 / memoryPage, Source: realSource(t)})
	m.do(t, "fill")
	dir := mount(t, "--size", "256M")
	guardSwap(t, dir)

	loop := strings.TrimSpace(system(t, commandTimeout,
		"losetup", "--direct-io=on", "--sector-size", "4096", "-f", "--show", data(dir)))
	system(t, commandTimeout, "mkswap", loop)
	system(t, commandTimeout, "swapon", "--discard", "-p", "7", loop)
	if area := oneSwap(t, dir); area.Path != loop || area.Priority != 7 {
		t.Errorf("/proc/swaps says %+v", area)
	}
	if out := m.do(t, "pageout"); out.Swapped == 0 {
		t.Error("nothing was swapped out")
	}
	m.do(t, "random")
	system(t, downTimeout, "swapoff", loop)
	m.do(t, "walk")
	if on, err := swapOn(dir); err != nil || len(on) > 0 {
		t.Errorf("after swapoff: %+v, %v", on, err)
	}
	system(t, commandTimeout, "losetup", "-d", loop)
	mustRun(t, commandTimeout, "umount", dir)
	wantNothingLeft(t, dir)
}
