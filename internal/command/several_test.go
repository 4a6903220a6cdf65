// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/loopsetup"
)

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
	if got := swapdev.UsedIn(d.Swaps); got != 6<<20 {
		t.Errorf("%d bytes would come back", got)
	}
	d.Swaps = d.Swaps[1:] // the first one was turned off
	if d.Name() != "/dev/loop3" || d.Swap().Used != 5<<20 {
		t.Errorf("without the first area it is called %s, %+v", d.Name(), d.Swap())
	}
}

// severalLoops returns a device of three loop devices.
func severalLoops() swapdev.Device {
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
