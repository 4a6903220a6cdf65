// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// Both lists end with plain Go, and nothing is usable that was not detected.
func TestInstructionSets(t *testing.T) {
	sets := InstructionSets()
	for _, list := range [][]string{sets.Detected, sets.Usable} {
		if len(list) == 0 || list[len(list)-1] != string(impl.Generic) {
			t.Errorf("%q does not end with %s", list, impl.Generic)
		}
	}
	for _, set := range sets.Usable {
		if !slices.Contains(sets.Detected, set) {
			t.Errorf("%s is usable but not detected", set)
		}
	}
}

// Each algorithm has one selected variant, the first, and each variant is what its name says: Parse
// makes it too.
func TestVariantsAreAlgorithms(t *testing.T) {
	for _, a := range Comparable() {
		variants := a.Variants()
		for i, v := range variants {
			if v.Selected != (i == 0) || v.Name != a.String() {
				t.Errorf("%s: variant %d is %+v", a, i, v)
			}
			parsed, err := Parse(v.Algorithm.String())
			if err != nil || parsed != v.Algorithm {
				t.Errorf("%s is parsed as %v: %v", v.Algorithm, parsed, err)
			}
			if v.Set != "" && !slices.Contains(InstructionSets().Usable, v.Set) {
				t.Errorf("%s needs %s, which this machine may not use", v.Algorithm, v.Set)
			}
		}
		if last := variants[len(variants)-1].Set; last != "" && last != string(impl.Generic) {
			t.Errorf("%s: the last variant needs %s", a, last)
		}
	}
}

// An algorithm that names an instruction set is one variant, whose name is that of all.
func TestVariantThatWasAskedFor(t *testing.T) {
	a, err := Parse("lz4:simd=generic")
	if err != nil {
		t.Fatal(err)
	}
	got := a.Variants()
	if len(got) != 1 || got[0].Algorithm != a || got[0].Name != "lz4" || got[0].Set != "generic" {
		t.Errorf("%+v", got)
	}
	if all := implementations(kindLZ4); got[0].Selected != (len(all) == 1) {
		t.Errorf("%+v: selected, of %v", got, all)
	}
}

// A set that an algorithm has no code for stands for the best below it.
func TestVariantBelowWhatWasAskedFor(t *testing.T) {
	defer func(before func() []impl.Set) { written[kindLZ4] = before }(written[kindLZ4])
	written[kindLZ4] = func() []impl.Set { return []impl.Set{impl.Generic} }
	for _, set := range impl.Usable() {
		a := Algorithm{kind: kindLZ4, simd: set}
		if got := a.Variants(); len(got) != 1 || got[0].Algorithm != a || got[0].Set != "generic" {
			t.Errorf("%s: %+v", a, got)
		}
	}
	if got := (Algorithm{kind: kindLZ4}).Variants(); len(got) != 1 || !got[0].Selected {
		t.Errorf("%+v", got)
	}
}

// All variants of an algorithm make the same objects, and read each other's.
func TestVariantsMakeTheSameObjects(t *testing.T) {
	pages := codectest.Generated()
	for _, a := range Comparable() {
		var objects [][]byte
		for i, v := range a.Variants() {
			c, err := v.Algorithm.NewCompressor()
			if err != nil {
				t.Fatal(err)
			}
			d, err := v.Algorithm.NewDecompressor()
			if err != nil {
				t.Fatal(err)
			}
			for j, page := range pages {
				dst, back := make([]byte, PageSize), make([]byte, PageSize)
				id, n, err := c.Compress(dst, page)
				if err != nil {
					t.Fatal(err)
				}
				object := append([]byte{byte(id)}, dst[:n]...)
				if id == Raw {
					object = append([]byte{byte(id)}, page...)
				}
				if i == 0 {
					objects = append(objects, object)
				}
				if !bytes.Equal(object, objects[j]) {
					t.Fatalf("%s: page %d has another object than by %s", v.Algorithm, j, a)
				}
				if err := d.Decompress(back, ID(objects[j][0]), objects[j][1:]); err != nil || !bytes.Equal(back, page) {
					t.Fatalf("%s: page %d does not come back: %v", v.Algorithm, j, err)
				}
			}
		}
	}
}

// The algorithms to compare hold the default and no name twice.
func TestComparable(t *testing.T) {
	var names []string
	for _, a := range Comparable() {
		if slices.Contains(names, a.String()) {
			t.Errorf("%s twice", a)
		}
		names = append(names, a.String())
	}
	for _, name := range append(Algorithms(), "zstd(level=1)", "lz4:fast") {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not among %q", name, names)
		}
	}
	if names[0] != Algorithms()[0] {
		t.Errorf("%s comes first, not the default %s", names[0], Algorithms()[0])
	}
}
