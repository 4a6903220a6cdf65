// SPDX-License-Identifier: Apache-2.0

package zramview

import (
	"testing"

	"github.com/zramfs/zramfs/loopsetup"
)

// Swap that the command has turned on has the name that the device has in the namespace. Where the
// loop device is swap by its own name, as up has it, swap of that name is the kernel's own zram.
func TestSwappedAs(t *testing.T) {
	z := &zram{name: "zram0", loop: "/dev/loop7"}
	disk, own, module := loopsetup.Swap{Path: "/dev/sda2"}, loopsetup.Swap{Path: "/dev/loop7"}, loopsetup.Swap{Path: "/dev/zram0"}
	for name, c := range map[string]struct {
		areas []loopsetup.Swap
		want  *loopsetup.Swap
	}{
		"none":            {nil, nil},
		"other swap":      {[]loopsetup.Swap{disk, {Path: "/dev/zram1"}}, nil},
		"the command's":   {[]loopsetup.Swap{disk, module}, &module},
		"by its own name": {[]loopsetup.Swap{own}, nil},
		"up's, and zram":  {[]loopsetup.Swap{module, own}, nil},
	} {
		got := z.swappedAs(c.areas)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
