// SPDX-License-Identifier: Apache-2.0

package impl

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// A Set names a set of instructions as users write it, in ZRAMFS_DISABLE and in algorithm names.
type Set string

// The sets. Each machine knows those of its architecture.
const (
	// AVX512 is x86-64-v4 (F, BW, CD, DQ, VL) with VBMI and VBMI2: Ice Lake and Zen 4, and later.
	AVX512 Set = "avx512"
	// AVX2 is x86-64-v3: AVX2, BMI1, BMI2, LZCNT and MOVBE, Haswell and Zen, and later.
	AVX2 Set = "avx2"
	// NEON is Advanced SIMD, which every 64-bit ARM that runs Linux has.
	NEON Set = "neon"
	// Generic is plain Go. Every machine has it and it cannot be disabled.
	Generic Set = "generic"
)

// disableVariable holds a comma-separated list of sets that are not to be used.
const disableVariable = "ZRAMFS_DISABLE"

// all lists the sets that exist anywhere, best first.
var all = []Set{AVX512, AVX2, NEON, Generic}

// ErrUnavailable reports a set that does not exist, that this machine lacks, or that was switched
// off.
var ErrUnavailable = errors.New("instruction set is not available")

// usable holds the sets that may be used, best first. It is made at start and never written again.
var usable, unknown = selected(detected(), os.Getenv(disableVariable))

// selected returns those of sets that the list disable does not name, and the names in it that are
// no set's.
func selected(sets []Set, disable string) (left []Set, strange []string) {
	off := map[Set]bool{}
	for name := range strings.SplitSeq(disable, ",") {
		set := Set(strings.TrimSpace(name))
		switch {
		case set == "":
		case set == Generic || !slices.Contains(all, set):
			strange = append(strange, string(set))
		default:
			off[set] = true
		}
	}
	// Code for AVX-512 uses AVX2 where wider vectors gain nothing.
	off[AVX512] = off[AVX512] || off[AVX2]
	for _, set := range sets {
		if !off[set] {
			left = append(left, set)
		}
	}
	return append(left, Generic), strange
}

// Usable returns the sets that this machine has and that are not switched off, best first; the last
// is [Generic]. The caller may keep and change the slice.
func Usable() []Set { return slices.Clone(usable) }

// Detected returns the sets that this machine has, whether switched off or not, best first; the
// last is [Generic].
func Detected() []Set { return append(detected(), Generic) }

// Known reports whether name is a set of any machine.
func Known(name string) bool { return slices.Contains(all, Set(name)) }

// CheckEnvironment returns an error of one line if ZRAMFS_DISABLE names anything that is no
// instruction set, or generic.
func CheckEnvironment() error {
	if len(unknown) == 0 {
		return nil
	}
	return fmt.Errorf("%s names %q: use avx512, avx2, neon, or several with commas", disableVariable, strings.Join(unknown, ","))
}

// Has reports whether set may be used here.
func Has(set Set) bool { return slices.Contains(usable, set) }

// An Entry is one implementation of a primitive.
type Entry[F any] struct {
	Set Set // what it needs
	F   F   // the function, or a structure of those that belong together
}

// A Table holds the implementations of one primitive, the fastest first and the generic one last.
// It is made at start and never written again.
type Table[F any] []Entry[F]

// Best returns the first entry that may be used here.
func (t Table[F]) Best() Entry[F] {
	for _, e := range t {
		if Has(e.Set) {
			return e
		}
	}
	panic("impl: table without a generic implementation") // a table that no test has run through
}

// For returns the entry to take where a user asked for set: the best that needs no more than set
// does. The empty set stands for no wish. A set that may not be used here is an error that wraps
// [ErrUnavailable] and names those that may.
func (t Table[F]) For(set Set) (Entry[F], error) {
	if set == "" {
		return t.Best(), nil
	}
	if !Has(set) {
		return Entry[F]{}, fmt.Errorf("%w: %q, this machine has %s", ErrUnavailable, set, list(usable))
	}
	for _, e := range t {
		if Has(e.Set) && slices.Index(all, e.Set) >= slices.Index(all, set) {
			return e, nil
		}
	}
	panic("impl: table without a generic implementation") // as in Best
}

// list writes sets as a person would.
func list(sets []Set) string {
	words := make([]string, len(sets))
	for i, s := range sets {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}
