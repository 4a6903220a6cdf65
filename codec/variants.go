// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"slices"

	"github.com/zramfs/zramfs/codec/internal/impl"
	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/codec/page"
)

// Instructions says which instruction sets the codecs may use on this machine, each list best first
// and with "generic", plain Go, at its end.
type Instructions struct {
	Detected []string // what the machine and this program have
	Usable   []string // of these, what the environment variable ZRAMFS_DISABLE leaves
}

// InstructionSets returns the instruction sets of this machine. The answer never changes while the
// program runs.
func InstructionSets() Instructions {
	return Instructions{Detected: words(impl.Detected()), Usable: words(impl.Usable())}
}

// CheckEnvironment returns an error of one line if the environment variable ZRAMFS_DISABLE names
// anything that is no instruction set. Such a word has no effect, and is likely a mistake.
func CheckEnvironment() error { return impl.CheckEnvironment() }

// A Variant is one implementation of an algorithm. All variants of an algorithm make the same
// objects, at different speeds.
type Variant struct {
	Algorithm Algorithm // makes compressors and decompressors that use this implementation
	Name      string    // of the algorithm without the choice of an implementation, as "lz4"
	Set       string    // the instruction set it needs, empty where there is one implementation and no choice
	Selected  bool      // the one taken where the algorithm names none
}

// Variants returns the implementations of a that this machine can run, the selected one first.
// Where a names an instruction set there is one alone: the best that needs no more than that.
func (a Algorithm) Variants() []Variant {
	plain := a
	plain.simd = ""
	if !slices.Contains(forms[a.kind].keys, keySIMD) {
		return []Variant{{Algorithm: a, Name: plain.String(), Selected: true}}
	}
	var all []Variant
	for i, set := range implementations(a.kind) {
		one := a
		if a.simd == "" {
			one.simd = set
		} else if !within(set, a.simd) {
			continue
		}
		all = append(all, Variant{Algorithm: one, Name: plain.String(), Set: string(set), Selected: i == 0})
		if a.simd != "" {
			break
		}
	}
	return all
}

// within reports whether set needs no more than limit does; both may be used here.
func within(set, limit impl.Set) bool {
	usable := impl.Usable() // best first
	return slices.Index(usable, set) >= slices.Index(usable, limit)
}

// Comparable returns the algorithms that are worth comparing with one another: each name with its
// usual parameters, and zstd also at its fastest level.
func Comparable() []Algorithm {
	var all []Algorithm
	for k := kindNone + 1; k < kinds; k++ {
		if k == kindZstd {
			all = append(all, Algorithm{kind: k, level: levelFast}, Algorithm{kind: k, level: defaultLevel})
			continue
		}
		all = append(all, Algorithm{kind: k})
	}
	return all
}

// written holds, for the kinds whose packages say so, the sets that there is code for, best first.
// Of the others every set that this machine may use counts as an implementation, though two may
// come to the same code.
var written = [kinds]func() []impl.Set{
	kindPage:      page.Sets,
	kindPageDense: page.Sets, // both levels have code for the same
	kindLZ4:       lz4.Sets,
	kindLZ4Fast:   lz4.Sets,
}

// implementations returns the sets that a kind has implementations for and that may be used here,
// best first.
func implementations(k kind) []impl.Set {
	if written[k] == nil {
		return impl.Usable()
	}
	return slices.DeleteFunc(slices.Clone(written[k]()), func(set impl.Set) bool { return !impl.Has(set) })
}

// words writes sets as users do.
func words(sets []impl.Set) []string {
	all := make([]string, len(sets))
	for i, set := range sets {
		all[i] = string(set)
	}
	return all
}
