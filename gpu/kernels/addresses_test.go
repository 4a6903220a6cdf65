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
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// Five hypotheses of three cases each.
func TestFifteenAddressCases(t *testing.T) {
	hypotheses, names := map[string]int{}, map[string]bool{}
	for _, c := range AddressCases() {
		hypotheses[c.Hypothesis+c.Name[:len("address_h1")]]++
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

const addressBlocks = 9

func addressMemory(d *device) (in, out uint64, blocks [][]uint32) {
	var all []uint32
	for i := range addressBlocks {
		blocks = append(blocks, AddressInput(i))
		all = append(all, blocks[i]...)
	}
	zeros := make([]byte, 4*len(all))
	return d.input("in", 4, words(all)), d.alloc(sim.Spec{Name: "out", Size: len(zeros), Stride: 4}, zeros), blocks
}

// Each case writes what it should, in whatever order its lanes and warps run.
func TestAddressCasesOnTheSimulator(t *testing.T) {
	for _, c := range AddressCases() {
		k := build(t, c.Build)
		for seed := range uint64(20) {
			d := newDevice(t)
			d.Seed = seed
			in, out, blocks := addressMemory(d)
			if _, err := d.Launch(k, addressBlocks, AddressWords, in, out); err != nil {
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
func TestAddressFaultsAreFound(t *testing.T) {
	for _, fault := range []struct {
		offset uint32
		kind   error
	}{{2, sim.ErrMisaligned}, {4 * AddressWords * addressBlocks, sim.ErrOutOfBounds}} {
		for _, c := range AddressCases() {
			d := newDevice(t)
			in, out, blocks := addressMemory(d)
			spoilt := slices.Concat(blocks...)
			for i := range spoilt {
				spoilt[i] += fault.offset
			}
			in = d.input("in", 4, words(spoilt))
			_, err := d.Launch(build(t, c.Build), addressBlocks, AddressWords, in, out)
			// These compute no address from what they read, or keep it within the ring.
			without := slices.Contains([]string{"address_h2_literal", "address_h5_uniform_address"}, c.Name) ||
				fault.offset >= 4*AddressWords && strings.HasPrefix(c.Name, "address_h2")
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
func TestAddressCasesAssemble(t *testing.T) {
	for _, c := range AddressCases() {
		k := build(t, c.Build)
		for _, target := range ptxas.Targets {
			u, ok := ptxas.Assemble(t, k.PTX(), target)[k.Name()]
			many, spilled := k.Name() == "address_h4_many_registers", k.Name() == "address_h4_spilled"
			if !ok || many != (u.Registers > addressMany) || spilled != (u.SpillStores > 0) || spilled && u.Registers > k.MaxRegisters() {
				t.Errorf("%s for %s: %+v", k.Name(), target, u)
			}
		}
	}
}

func TestAddressGoldenText(t *testing.T) {
	got := ""
	for _, c := range AddressCases() {
		got += build(t, c.Build).PTX()
	}
	file := filepath.Join("testdata", "addresses.ptx")
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
