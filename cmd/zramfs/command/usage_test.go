// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/loopsetup"
)

func TestUsage(t *testing.T) {
	const mib = 1 << 20
	well := wellDevice() // 2400 used: 100 ballast, 50 copies; 2900 stored in 1000 by processes of 20
	if got, want := *devices.NewUsage(well), (devices.Usage{InSwap: 2250 * mib, Copies: 50 * mib, Freed: 600*mib - pageSize, Ballast: 100 * mib,
		Saved: 1230 * mib}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	// Two devices with the same use have half of the copies each.
	two := wellDevice()
	two.SwapUse.All = 4800 * mib
	if got := devices.NewUsage(two).Copies; got != 25*mib {
		t.Errorf("%d bytes of copies", got)
	}
	// Pages of zeros are used and not stored.
	zeros := wellDevice()
	zeros.Status.Memory.OrigDataSize = mib
	if got := devices.NewUsage(zeros); got.Freed != 0 {
		t.Errorf("%+v", got)
	}
	empty := wellDevice()
	empty.Swaps = []loopsetup.Swap{{Path: "/dev/loop3", Size: 4096*mib - 4096}}
	empty.SwapUse = devices.SwapUse{}
	empty.Status.Memory.OrigDataSize, empty.Status.Memory.MemUsedTotal = pageSize, 10*mib
	if got, want := *devices.NewUsage(empty), (devices.Usage{Saved: -30 * mib}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	columns, err := parseColumns("IN-SWAP,COPIES,FREED")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"2.2G", "50M", "600M"} {
		if got := formatCell(columns[i].value(well), false); got != want {
			t.Errorf("list prints %s for %s, want %s", got, columns[i].Name, want)
		}
	}
	file := wellDevice()
	file.Swaps = nil
	if got := devices.NewUsage(file); got != nil {
		t.Errorf("without swap: %+v", got)
	}
}
