// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"encoding/binary"
	"testing"

	"github.com/zramfs/zramfs/gpu/internal/ptxas"
)

// Every quad is read and written once, whichever the grid is, by coalesced accesses; what is read
// is kept.
func TestMemoryKernels(t *testing.T) {
	read, write := build(t, ReadMemory), build(t, WriteMemory)
	for _, c := range []struct{ quads, blocks int }{{1, 1}, {MemoryThreads, 1}, {1000, 1}, {1000, 4}, {5000, 3}} {
		d := newDevice(t)
		content, want := make([]byte, c.quads*quadBytes), uint32(0)
		for at := 0; at < len(content); at += 4 {
			word := uint32(at)*0x9E3779B1 + 1
			binary.LittleEndian.PutUint32(content[at:], word)
			want ^= word
		}
		threads := c.blocks * MemoryThreads
		sums, out := d.output("sums", 4, threads), d.output("out", quadBytes, c.quads)
		stats, err := d.Launch(read, c.blocks, MemoryThreads, d.input("from", quadBytes, content), sums, uint64(c.quads))
		if err != nil {
			t.Fatal(err)
		}
		if c.quads > 1 && stats.Loads.CoalescedShare() < 1 {
			t.Errorf("%+v: %+v", c, stats)
		}
		got := uint32(0)
		for b := d.read(sums, 4*threads); len(b) > 0; b = b[4:] {
			got ^= binary.LittleEndian.Uint32(b)
		}
		if got != want {
			t.Errorf("%+v: what was read is %#x, want %#x", c, got, want)
		}
		if _, err := d.Launch(write, c.blocks, MemoryThreads, out, uint64(c.quads)); err != nil {
			t.Fatal(err)
		}
		for at, b := 0, d.read(out, len(content)); at < len(b); at += 4 {
			if got := binary.LittleEndian.Uint32(b[at:]); got != uint32(at/quadBytes) {
				t.Fatalf("%+v: %d at %d", c, got, at)
			}
		}
	}
}

func TestMemoryKernelsAssemble(t *testing.T) {
	for _, target := range ptxas.Targets {
		ptxas.Assemble(t, build(t, ReadMemory).PTX(), target)
		ptxas.Assemble(t, build(t, WriteMemory).PTX(), target)
	}
}
