// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"testing"

	"github.com/zramfs/zramfs/loopsetup"
)

// Reading ahead is for a device with something in swap, and for a machine whose other areas have
// nothing: what is there has to stay there.
func TestWorthAhead(t *testing.T) {
	full, half := loopsetup.Swap{Path: "/dev/loop1", Used: aheadLeast}, loopsetup.Swap{Path: "/dev/loop2", Used: aheadLeast / 2}
	disk, empty := loopsetup.Swap{Path: "/dev/sda2", Used: 4096}, loopsetup.Swap{Path: "/dev/sda3", Size: 1 << 30}
	for _, c := range []struct {
		name       string
		all, areas []loopsetup.Swap
		want       bool
	}{
		{"alone", []loopsetup.Swap{full}, []loopsetup.Swap{full}, true},
		{"next to an empty one", []loopsetup.Swap{empty, full, half}, []loopsetup.Swap{full, half}, true},
		{"little in use", []loopsetup.Swap{half}, []loopsetup.Swap{half}, false},
		{"next to a disk", []loopsetup.Swap{disk, full}, []loopsetup.Swap{full}, false},
		{"gone", nil, nil, false},
	} {
		if got := worthAhead(c.all, c.areas); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
