// SPDX-License-Identifier: Apache-2.0

package command

import (
	"slices"
	"testing"

	"github.com/zramfs/zramfs/loopsetup"
)

func TestCut(t *testing.T) {
	const page = pageSize
	for _, test := range []struct {
		size uint64
		n    int
		want []slice
	}{
		{8 * page, 1, []slice{{0, 8 * page}}},
		{8 * page, 2, []slice{{0, 4 * page}, {4 * page, 4 * page}}},
		{11 * page, 3, []slice{{0, 3 * page}, {3 * page, 3 * page}, {6 * page, 5 * page}}},
		{16 << 40, 2, []slice{{0, 8 << 40}, {8 << 40, 8 << 40}}},
	} {
		if got := cut(test.size, test.n); !slices.Equal(got, test.want) {
			t.Errorf("%d in %d: %v, want %v", test.size, test.n, got, test.want)
		}
	}
}

// TestDeviceOfSeveralLoops wants one device with the sums of its areas.
func TestDeviceOfSeveralLoops(t *testing.T) {
	d := severalLoops()
	if s := d.swap(); s == nil || s.Size != 3*(1<<30-4096) || s.Used != 6<<20 || s.Priority != 100 {
		t.Errorf("all areas are %+v", s)
	}
	if d.name() != "/dev/loop5" || d.use() != swapMountpoint {
		t.Errorf("it is called %s, used as %v", d.name(), d.use())
	}
	d.Status = nil
	if got := d.disksize(); got != byteSize(3<<30) {
		t.Errorf("its size is %v", got)
	}
	if got := usedIn(d.Swaps); got != 6<<20 {
		t.Errorf("%d bytes would come back", got)
	}
	d.Swaps = d.Swaps[1:] // somebody has turned the first one off
	if d.name() != "/dev/loop3" || d.swap().Used != 5<<20 {
		t.Errorf("without the first area it is called %s, %+v", d.name(), d.swap())
	}
}

// severalLoops is a device of three loop devices.
func severalLoops() device {
	d := wellDevice()
	d.Status.Disksize = 3 << 30
	d.Loops, d.Swaps = nil, nil
	for i, path := range []string{"/dev/loop5", "/dev/loop3", "/dev/loop4"} {
		d.Loops = append(d.Loops, loopsetup.Info{Path: path, DirectIO: true, Autoclear: true, BlockSize: 4096,
			Size: 1 << 30, Offset: uint64(i) << 30, SizeLimit: 1 << 30})
		d.Swaps = append(d.Swaps, loopsetup.Swap{Path: path, Size: 1<<30 - 4096, Used: uint64(i+1) << 20, Priority: 100})
	}
	return d
}
