// SPDX-License-Identifier: Apache-2.0

package impl

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestSelected(t *testing.T) {
	for _, test := range []struct {
		disable string
		left    []Set
		strange []string
	}{
		{"", []Set{AVX512, AVX2, Generic}, nil},
		{"avx512", []Set{AVX2, Generic}, nil},
		{"avx512,avx2", []Set{Generic}, nil},
		{"avx2", []Set{Generic}, nil}, // which avx512 is made of
		{" avx2 , avx512,", []Set{Generic}, nil},
		{"neon", []Set{AVX512, AVX2, Generic}, nil}, // of another architecture, and no mistake
		{"sse", []Set{AVX512, AVX2, Generic}, []string{"sse"}},
		{"AVX2,avx512", []Set{AVX2, Generic}, []string{"AVX2"}},
		{"generic", []Set{AVX512, AVX2, Generic}, []string{"generic"}},
	} {
		left, strange := selected([]Set{AVX512, AVX2}, test.disable)
		if !slices.Equal(left, test.left) || !slices.Equal(strange, test.strange) {
			t.Errorf("%q leaves %v and finds %q strange, want %v and %v", test.disable, left, strange, test.left, test.strange)
		}
	}
}

func TestUsableEndsInGenericAndIsTheCallers(t *testing.T) {
	got := Usable()
	if got[len(got)-1] != Generic || slices.Index(got, Generic) != len(got)-1 {
		t.Errorf("usable are %v", got)
	}
	got[0] = "changed"
	if Usable()[0] == "changed" {
		t.Error("a caller can change the list")
	}
}

func TestKnown(t *testing.T) {
	for _, name := range []string{"avx512", "avx2", "neon", "generic"} {
		if !Known(name) {
			t.Errorf("%s is not known", name)
		}
	}
	for _, name := range []string{"", "AVX2", "sse", "avx512,avx2"} {
		if Known(name) {
			t.Errorf("%q is known", name)
		}
	}
}

// whole has an entry for each set, sparse one for few of them.
var (
	whole  = Table[int]{{AVX512, 4}, {AVX2, 3}, {NEON, 2}, {Generic, 1}}
	sparse = Table[int]{{AVX2, 3}, {Generic, 1}}
)

// with makes sets the usable ones for a test.
func with(t *testing.T, sets ...Set) {
	t.Helper()
	before := usable
	usable = sets
	t.Cleanup(func() { usable = before })
}

// F086: the best implementation for what may be used is taken.
func TestF086BestIsTheFirstUsable(t *testing.T) {
	for _, test := range []struct {
		usable        []Set
		whole, sparse int
	}{
		{[]Set{AVX512, AVX2, Generic}, 4, 3},
		{[]Set{AVX512, Generic}, 4, 1},
		{[]Set{AVX2, Generic}, 3, 3},
		{[]Set{NEON, Generic}, 2, 1},
		{[]Set{Generic}, 1, 1},
	} {
		with(t, test.usable...)
		if got, other := whole.Best().F, sparse.Best().F; got != test.whole || other != test.sparse {
			t.Errorf("%v: took %d and %d, want %d and %d", test.usable, got, other, test.whole, test.sparse)
		}
	}
}

// F086: a caller that asks for a set gets nothing that needs more.
func TestF086ForTakesNoMoreThanAsked(t *testing.T) {
	with(t, AVX512, AVX2, Generic)
	for set, want := range map[Set][2]int{"": {4, 3}, AVX512: {4, 3}, AVX2: {3, 3}, Generic: {1, 1}} {
		for i, table := range []Table[int]{whole, sparse} {
			e, err := table.For(set)
			if err != nil || e.F != want[i] {
				t.Errorf("%q of table %d: took %d, %v, want %d", set, i, e.F, err, want[i])
			}
		}
	}
}

func TestForRefusesWhatMayNotBeUsed(t *testing.T) {
	with(t, AVX2, Generic)
	for _, set := range []Set{AVX512, NEON, "sse", "AVX2"} {
		_, err := whole.For(set)
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: got %v", set, err)
			continue
		}
		if text := err.Error(); !strings.Contains(text, string(set)) || !strings.Contains(text, "avx2, generic") {
			t.Errorf("%s: the error does not help: %s", set, text)
		}
	}
}

// A table without a generic implementation is a defect, and must not look like a missing
// instruction set.
func TestTableWithoutGenericPanics(t *testing.T) {
	with(t, Generic)
	for name, call := range map[string]func(Table[int]){
		"Best": func(t Table[int]) { t.Best() },
		"For":  func(t Table[int]) { _, _ = t.For(Generic) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call(Table[int]{{AVX2, 1}})
		})
	}
}
