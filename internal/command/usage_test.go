// SPDX-License-Identifier: Apache-2.0

package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/loopsetup"
)

func TestUsage(t *testing.T) {
	const mib = 1 << 20
	well := wellDevice() // 2400 used: 100 ballast, 50 copies; 2900 stored in 1000 by processes of 20 and 3
	if got, want := *swapdev.NewUsage(well), (swapdev.Usage{InSwap: 2250 * mib, Copies: 50 * mib, Freed: 600*mib - pageSize, Ballast: 100 * mib,
		Saved: 1227 * mib}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	// Two devices with the same use have half of the copies each.
	two := wellDevice()
	two.SwapUse.All = 4800 * mib
	if got := swapdev.NewUsage(two).Copies; got != 25*mib {
		t.Errorf("%d bytes of copies", got)
	}
	// Pages of zeros are used and not stored.
	zeros := wellDevice()
	zeros.Status.Memory.OrigDataSize = mib
	if got := swapdev.NewUsage(zeros); got.Freed != 0 {
		t.Errorf("%+v", got)
	}
	// A page in zswap is in swap, and the store has nothing for it: more of its pages are freed.
	// The memory of zswap counts, with 80 bytes for each page in it.
	hot := wellDevice()
	hot.SwapUse.Zswap = host.ZswapUse{Held: 512 * mib, Pool: 160 * mib, Stores: 1}
	if got, want := *swapdev.NewUsage(hot), (swapdev.Usage{InSwap: 2250 * mib, InZswap: 512 * mib, Copies: 50 * mib, Freed: 1112*mib - pageSize,
		Ballast: 100 * mib, Saved: 1057 * mib}); got != want {
		t.Errorf("with zswap: %+v, want %+v", got, want)
	}
	// A second area of the machine, as full, may have it all; by used slots it has half.
	hot.SwapUse.All = 4800 * mib
	if got := swapdev.NewUsage(hot); got.InZswap != 256*mib || got.Freed != 600*mib-pageSize || hot.Memory().Zswap != 85*mib {
		t.Errorf("with zswap and another area: %+v, %+v", got, hot.Memory())
	}
	// Read at another time, zswap may hold more than is in swap.
	hot.SwapUse.All, hot.SwapUse.Zswap.Held = 1000*mib, 9000*mib
	if got := swapdev.NewUsage(hot); got.InZswap != got.InSwap || got.Freed > hot.Status.Memory.OrigDataSize {
		t.Errorf("with too much in zswap: %+v", got)
	}
	empty := wellDevice()
	empty.Swaps = []loopsetup.Swap{{Path: "/dev/loop3", Size: 4096*mib - 4096}}
	empty.SwapUse = swapdev.SwapUse{}
	empty.Status.Memory.OrigDataSize, empty.Status.Memory.MemUsedTotal = pageSize, 10*mib
	if got, want := *swapdev.NewUsage(empty), (swapdev.Usage{Saved: -30 * mib}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	well.SwapUse.Zswap = host.ZswapUse{Held: 512 * mib, Pool: 160 * mib, Stores: 1}
	columns, err := parseColumns("IN-SWAP,IN-ZSWAP,ZSWAP-TOTAL,COPIES,FREED")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"2.2G", "512M", "170M", "50M", "1.1G"} {
		if got := formatCell(columns[i].value(well), false); got != want {
			t.Errorf("list prints %s for %s, want %s", got, columns[i].Name, want)
		}
	}
	file := wellDevice()
	file.Swaps = nil
	if got := swapdev.NewUsage(file); got != nil {
		t.Errorf("without swap: %+v", got)
	}
}

// The memory of a device is one figure, with parts that add up to it, in every output.
func TestMemoryAddsUpEverywhere(t *testing.T) {
	const store, processes, slots = 1000 << 20, 20 << 20, 3 << 20
	file, hot := wellDevice(), wellDevice()
	file.Swaps = nil
	hot.SwapUse.Zswap = host.ZswapUse{Held: 512 << 20, Pool: 160 << 20, Stores: 1}
	for name, d := range map[string]swapdev.Device{"swap": wellDevice(), "a file": file, "behind zswap": hot} {
		zswap, taken, line := uint64(0), uint64(1023<<20), "1023M taken: 1000M store + 20M processes + 3M slots"
		if name == "behind zswap" {
			zswap, taken, line = 170<<20, 1193<<20, "1.2G taken: 1000M store + 20M processes + 3M slots + 170M zswap"
		}
		r := newReport(d, testNow)
		if want := (swapdev.Memory{Taken: taken, Store: store, Processes: processes, Slots: slots, Zswap: zswap}); *r.Memory != want {
			t.Errorf("%s: status --json has %+v, want %+v", name, *r.Memory, want)
		}
		if all := r.sides(); !slices.ContainsFunc(all, func(s statusLine) bool { return s == statusLine{"memory", line} }) {
			t.Errorf("%s: status has %q, want %s", name, all, line)
		}
		s := newSummary(zramfsd.Config{}, &status.Report{}, d, &swapdev.Narration{})
		if m := s.Memory; zswap == 0 && (m.Now != taken || m.Store+m.Processes+m.Slots != taken || !strings.HasPrefix(s.memoryText(), "  memory   "+line+"; ")) {
			t.Errorf("%s: up has %+v, %s", name, m, s.memoryText())
		}
		saved := d.Status.Memory.OrigDataSize - taken
		if r.Usage != nil {
			saved = r.Usage.InSwap - taken
		}
		sum := uint64(0)
		for _, m := range monitor.Of(monitor.Look{Devices: []swapdev.Device{d}}, monitor.Build{}) {
			if m.Name == monitor.MemoryParts {
				sum += uint64(m.Value)
			}
			if m.Name == monitor.Saved && m.Value != float64(saved) {
				t.Errorf("%s: metrics have %.0f saved, want %d", name, m.Value, saved)
			}
		}
		p := monitor.NewHistory(1).Add([]monitor.Sample{{Device: d}})[0]
		if sum != taken || p.Memory+p.Processes+p.Slots+p.Zswap != taken || p.Saved != int64(saved) {
			t.Errorf("%s: metrics have %d taken, stats %+v, want %d and %d saved", name, sum, p, taken, saved)
		}
	}
}
