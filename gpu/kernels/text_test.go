// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/zramfs/zramfs/gpu/internal/ptxas"
	"github.com/zramfs/zramfs/gpu/ptx"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// The text is what was committed, so that a change of it is seen, and can be read.
func TestGolden(t *testing.T) {
	for _, kernel := range All() {
		k := build(t, kernel.Build)
		file, got := filepath.Join("testdata", kernel.Name+".ptx"), k.PTX()
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("the text is not that of %s; go test -update writes it", file)
		}
		if k.Name() != kernel.Name || k.Threads() != kernel.PagesPerBlock*lanes {
			t.Errorf("%s has %d threads, and says %+v", k.Name(), k.Threads(), kernel)
		}
	}
}

// F047: shared memory fits a block without being asked for, and warps enough fit a multiprocessor.
func TestF047SharedMemoryFits(t *testing.T) {
	const (
		multiprocessor = 227 << 10 // of an H100
		reserved       = 1 << 10   // by the system, a block
	)
	for name, warps := range map[string]int{"lz4_compress": 18, "lz4_decompress": 24, "lz4_prove": 24, "lz4_verify": 24, "page_decompress": 24, "page_verify": 24} {
		for _, kernel := range All() {
			if kernel.Name != name {
				continue
			}
			k := build(t, kernel.Build)
			if k.SharedBytes() > ptx.MaxSharedBytes {
				t.Errorf("%s takes %d bytes", name, k.SharedBytes())
			}
			if got := multiprocessor / (k.SharedBytes() + reserved) * kernel.PagesPerBlock; got != warps {
				t.Errorf("%s takes %d bytes, so that %d warps fit a multiprocessor, want %d", name, k.SharedBytes(), got, warps)
			}
		}
	}
}

// F048: NVIDIA's assembler takes each kernel for every target, with fewer than 64 registers and
// none of them in memory.
func TestF048RegistersFit(t *testing.T) {
	for _, kernel := range All() {
		k := build(t, kernel.Build)
		for _, target := range ptxas.Targets {
			u, ok := ptxas.Assemble(t, k.PTX(), target)[kernel.Name]
			if !ok || u.Registers <= 0 || u.Registers >= 64 || u.StackBytes+u.SpillLoads+u.SpillStores > 0 || u.SharedBytes != k.SharedBytes() {
				t.Errorf("%s for %s: %+v", kernel.Name, target, u)
			}
			t.Logf("%s for %s: %d registers", kernel.Name, target, u.Registers)
		}
	}
}
