// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/gpu/internal/ptxas"
	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// Five hypotheses of three cases each.
func TestF082HasFifteenCases(t *testing.T) {
	hypotheses, names := map[string]int{}, map[string]bool{}
	for _, c := range F082Cases() {
		hypotheses[c.Hypothesis+c.Name[:len("f082_h1")]]++
		names[c.Name] = true
		if k := build(t, c.Build); k.Name() != c.Name {
			t.Errorf("%s is named %s", c.Name, k.Name())
		}
	}
	if len(hypotheses) != 5 || len(names) != 15 {
		t.Errorf("%d hypotheses, %d names", len(hypotheses), len(names))
	}
	for h, n := range hypotheses {
		if n != 3 {
			t.Errorf("%s has %d cases", h, n)
		}
	}
}

const f082Blocks = 9

func f082Memory(d *device) (in, out uint64, blocks [][]uint32) {
	var all []uint32
	for i := range f082Blocks {
		blocks = append(blocks, F082Input(i))
		all = append(all, blocks[i]...)
	}
	zeros := make([]byte, 4*len(all))
	return d.input("in", 4, words(all)), d.alloc(sim.Spec{Name: "out", Size: len(zeros), Stride: 4}, zeros), blocks
}

// Each case writes what it should, in whatever order its lanes and warps run.
func TestF082CasesOnTheSimulator(t *testing.T) {
	for _, c := range F082Cases() {
		k := build(t, c.Build)
		for seed := range uint64(20) {
			d := newDevice(t)
			d.Seed = seed
			in, out, blocks := f082Memory(d)
			if _, err := d.Launch(k, f082Blocks, F082Words, in, out); err != nil {
				t.Errorf("seed %d: %v", seed, err)
				break
			}
			var want []uint32
			for _, b := range blocks {
				want = append(want, c.Want(b)...)
			}
			if got := d.read(out, 4*len(want)); !bytes.Equal(got, words(want)) {
				t.Errorf("%s, seed %d: got %x, want %x", c.Name, seed, got, words(want))
				break
			}
		}
	}
}

// An offset that is not a multiple of four, as the original kernel makes them, is found in every
// case that computes an address; so is one behind the block's words.
func TestF082FaultsAreFound(t *testing.T) {
	for _, fault := range []struct {
		offset uint32
		kind   error
	}{{2, sim.ErrMisaligned}, {4 * F082Words * f082Blocks, sim.ErrOutOfBounds}} {
		for _, c := range F082Cases() {
			d := newDevice(t)
			in, out, blocks := f082Memory(d)
			spoilt := slices.Concat(blocks...)
			for i := range spoilt {
				spoilt[i] += fault.offset
			}
			in = d.input("in", 4, words(spoilt))
			_, err := d.Launch(build(t, c.Build), f082Blocks, F082Words, in, out)
			// These compute no address from what they read, or keep it within the ring.
			without := slices.Contains([]string{"f082_h2_literal", "f082_h5_uniform_address"}, c.Name) ||
				fault.offset >= 4*F082Words && strings.HasPrefix(c.Name, "f082_h2")
			if without != (err == nil) {
				t.Errorf("%s with offsets from %d: %v", c.Name, fault.offset, err)
			}
			if err != nil && !errors.Is(err, fault.kind) {
				t.Errorf("%s with offsets from %d: %v, want %v", c.Name, fault.offset, err, fault.kind)
			}
		}
	}
}

// ptxas takes all cases; those which are about registers use them up.
func TestF082CasesAssemble(t *testing.T) {
	var all []*ptx.Kernel
	for _, c := range F082Cases() {
		all = append(all, build(t, c.Build))
	}
	for _, target := range ptxas.Targets {
		usage := ptxas.Assemble(t, ptx.Module(all...), target)
		for _, k := range all {
			u, ok := usage[k.Name()]
			many, spilled := k.Name() == "f082_h4_many_registers", k.Name() == "f082_h4_spilled"
			if !ok || many != (u.Registers > f082Many) || spilled != (u.SpillStores > 0) || spilled && u.Registers > k.MaxRegisters() {
				t.Errorf("%s for %s: %+v", k.Name(), target, u)
			}
		}
	}
}

func TestF082GoldenText(t *testing.T) {
	var all []*ptx.Kernel
	for _, c := range F082Cases() {
		all = append(all, build(t, c.Build))
	}
	file, got := filepath.Join("testdata", "f082.ptx"), ptx.Module(all...)
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
}
