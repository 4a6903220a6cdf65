// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

// Calls of zramctl -f -s at the same time each make a device of their own, with the next numbers.
func TestZramctlAtOnce(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	const script = `for round in 1 2 3; do
	"$1" -f -s 64M >/run/first & first=$!
	"$1" -f -s 64M >/run/second & second=$!
	"$1" -f -s 64M >/run/third || echo failed
	wait $first || echo failed
	wait $second || echo failed
	[ $(sort -u /run/first /run/second /run/third | grep -c '^/dev/loop') = 3 ] || echo not three
	echo $("$1" -n --raw -o NAME | grep zram)
	"$1" -r zram0 zram1 zram2
done`
	const names = "/dev/zram0 /dev/zram1 /dev/zram2\n"
	if r := ownRun(t, script, asZramctl(t)); r.Code != 0 || r.Stdout != strings.Repeat(names, 3) {
		t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// A device ends by itself once its swap areas were turned off by swapoff; up waits for that.
func TestSwapUpAfterSwapoff(t *testing.T) {
	dir := swapDir(t)
	for range 8 {
		mustRun(t, commandTimeout, "up", "--size", "64M", "--devices", "2", dir)
		on, err := swapOn(dir)
		if err != nil || len(on) != 2 {
			t.Fatalf("%+v, %v", on, err)
		}
		slices.Reverse(on)
		for _, area := range on {
			if err := loopsetup.SwapOff(area.Path); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustRun(t, commandTimeout, "up", "--size", "64M", dir) // for the end of the test
}
