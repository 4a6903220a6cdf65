// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// budgets are the warp instructions that a kernel may take for a page, generated or real, on the
// mean: a tenth more than it took when that was written.
var budgets = map[string]uint64{"lz4_compress": 18700, "lz4_decompress": 14400, "lz4_prove": 15000, "lz4_verify": 14500, "page_decompress": 9050, "page_verify": 9200}

// The simulator's counts stay within the figures of the kernels. F059: more than 80 % of the loads
// from global memory are coalesced.
func TestF059Figures(t *testing.T) {
	check := func(t *testing.T, k *ptx.Kernel, s sim.Stats, n int) {
		pages := uint64(n)
		conflicts := float64(s.BankConflicts) / float64(s.Shared)
		t.Logf("%-15s %5d warp instructions a page, %.1f lanes active, %.0f %% of loads and %.0f %% of stores coalesced, %4d shared accesses a page, %.2f bank conflicts in each, %d divergent branches a page",
			k.Name(), s.Instructions/pages, s.ActiveLanes(), 100*s.Loads.CoalescedShare(), 100*s.Stores.CoalescedShare(), s.Shared/pages, conflicts, s.Divergent/pages)
		if s.Instructions/pages > budgets[k.Name()] {
			t.Errorf("%s: %d warp instructions a page, %d are allowed", k.Name(), s.Instructions/pages, budgets[k.Name()])
		}
		if s.Loads.CoalescedShare() <= 0.8 || conflicts > 0.5 {
			t.Errorf("%s: %+v", k.Name(), s)
		}
	}
	eachSource(t, fewer(120), func(t *testing.T, all [][]byte) {
		for _, f := range formats {
			objects, _ := f.objects(t, all)
			n := len(objects)
			for _, k := range []*ptx.Kernel{build(t, f.decompress), build(t, f.verify)} {
				d := newDevice(t)
				check(t, k, d.mustLaunch(k, n, f.arguments(d, objects, d.output("out", PageSize, n), d.output("statuses", 4, n))...), n)
			}
		}
		k := build(t, LZ4Compress)
		c := newDevice(t).compress(k, all, 256*len(all), PageSize)
		check(t, k, c.stats, len(all))
		k = build(t, LZ4Prove)
		_, stats := newDevice(t).prove(k, c)
		check(t, k, stats, len(all))
	})
}

// A run of zeros, noise, and a page of one word take what is told of them: nothing depends on the
// content by more than this.
func TestFiguresOfExtremePages(t *testing.T) {
	k := build(t, LZ4Compress)
	zero, almost := make([]byte, PageSize), make([]byte, PageSize)
	almost[PageSize-1] = 1
	noise := hardPages()[len(hardPages())-3]
	for name, extreme := range map[string]struct {
		page   []byte
		budget uint64
	}{"zeros": {zero, 400}, "zeros and a one": {almost, 2800}, "noise": {noise, 8100}} {
		s := newDevice(t).compress(k, [][]byte{extreme.page, extreme.page}, 512, PageSize).stats
		t.Logf("%s: %d warp instructions", name, s.Instructions/2)
		if s.Instructions/2 > extreme.budget {
			t.Errorf("%s: %d warp instructions, %d are allowed", name, s.Instructions/2, extreme.budget)
		}
	}
}

// The hash tells pages apart that differ in a bit, that have words in another order, or that are
// shifted.
func TestHashTellsPagesApart(t *testing.T) {
	seen := map[uint64]string{}
	add := func(what string, p []byte) {
		h := Hash(p)
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have the hash %#x", what, other, h)
		}
		seen[h] = what
	}
	page := spread(hardPages(), 3)[1]
	add("the page", page)
	for at := range PageSize {
		changed := bytes.Clone(page)
		changed[at] ^= 1 << (at % 8)
		add("a bit", changed)
	}
	for at := 0; at < PageSize-8; at += 8 {
		changed := bytes.Clone(page)
		copy(changed[at:], page[at+8:at+16])
		copy(changed[at+8:], page[at:at+8])
		if !bytes.Equal(changed, page) {
			add("a swap", changed)
		}
	}
	for shift := 1; shift < 64; shift++ {
		add("a shift", append(bytes.Clone(page[shift:]), page[:shift]...))
	}
}
