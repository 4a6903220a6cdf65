// SPDX-License-Identifier: Apache-2.0

//go:build cuda && (amd64 || arm64)

package imageio

import (
	"testing"

	"github.com/zramfs/zramfs/codec"
)

// A device locks only a small part of the free memory.
func TestGPUBatchFitsMemory(t *testing.T) {
	for _, c := range []struct {
		room  uint64
		slots int
		pages int
		fits  bool
	}{
		{64 << 30, 8, 4096, true}, {6 << 30, 8, 2048, true}, {6 << 30, 4, 4096, true}, {2 << 30, 8, 512, true}, {512 << 20, 8, 512, false}, {0, 8, 512, false},
	} {
		if pages, fits := fittingBatch(c.room, c.slots); pages != c.pages || fits != c.fits {
			t.Errorf("%d bytes for %d slots: %d pages, %v", c.room, c.slots, pages, fits)
		}
	}
}

// GPUs are opened unasked only for tasks that they can do.
func TestGPUUses(t *testing.T) {
	for name, want := range map[string][2]bool{
		"lz4": {true, true}, "lz4:fast": {true, true}, "page": {false, true}, "page:dense": {false, false}, "adaptive": {false, true}, "adaptive:entropy": {false, true},
		"zstd": {false, false}, "zstd(level=1)": {false, false}, "raw": {false, false},
	} {
		a, err := codec.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{usefulGPUs(a, Packing), usefulGPUs(a, Unpacking)}; got != want || !usefulGPUs(a, AnyTask) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
