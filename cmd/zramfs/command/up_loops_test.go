// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/loopsetup"
)

// TestCut wants adjacent slices of whole pages up to the last byte, each an eighth larger than the
// one before.
func TestCut(t *testing.T) {
	for _, test := range []struct {
		size uint64
		n    int
	}{{8 * pageSize, 1}, {1000004 << 10, 3}, {1 << 30, 16}, {16 << 40, 2}, {16 << 40, maxDevices}} {
		end := uint64(0)
		all := cut(test.size, test.n)
		for i, s := range all {
			if s.offset != end || s.offset%pageSize+s.size%pageSize != 0 {
				t.Errorf("%d in %d: %v follows on %d", test.size, test.n, s, end)
			}
			end += s.size
			if i == 0 {
				continue
			}
			if before := all[i-1].size; s.size+2*pageSize < before*9/8 || s.size > before*9/8+2*pageSize {
				t.Errorf("%d in %d: %d bytes after %d", test.size, test.n, s.size, before)
			}
		}
		if len(all) != test.n || end != test.size {
			t.Errorf("%d in %d: %v", test.size, test.n, all)
		}
	}
}

// TestDeviceOfSeveralLoops wants one device with the sums of its areas.
func TestDeviceOfSeveralLoops(t *testing.T) {
	d := severalLoops()
	if s := d.Swap(); s == nil || s.Size != 3*(1<<30-4096) || s.Used != 6<<20 || s.Priority != 100 {
		t.Errorf("all areas are %+v", s)
	}
	if d.Name() != "/dev/loop5" || useOf(d) != swapMountpoint {
		t.Errorf("it is called %s, used as %v", d.Name(), useOf(d))
	}
	d.Status = nil
	if got := disksizeOf(d); got != byteSize(3<<30) {
		t.Errorf("its size is %v", got)
	}
	if got := devices.UsedIn(d.Swaps); got != 6<<20 {
		t.Errorf("%d bytes would come back", got)
	}
	d.Swaps = d.Swaps[1:] // the first one was turned off
	if d.Name() != "/dev/loop3" || d.Swap().Used != 5<<20 {
		t.Errorf("without the first area it is called %s, %+v", d.Name(), d.Swap())
	}
}

// severalLoops returns a device of three loop devices.
func severalLoops() devices.Device {
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
