// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"strconv"

	"github.com/zramfs/zramfs/codec/internal/impl"
	"github.com/zramfs/zramfs/codec/zstd"
)

// kind is what an Algorithm does, without its parameters.
type kind uint8

const (
	kindNone kind = iota
	kindAdaptive
	kindEntropy
	kindPage
	kindPageDense
	kindLZ4
	kindLZ4Fast
	kindZstd
	kindRaw
	kinds // how many there are
)

// A form is what may be written for a kind.
type form struct {
	name string   // with its variant, as in "lz4:fast"
	keys []string // the parameters it takes, in the order in which String writes them
	// paren says that String writes parameters as in zstd(level=1), and not as in lz4:simd=avx2:
	// parameters that change the objects stand in parentheses, those that only choose the code
	// follow a colon. Parse takes either.
	paren bool
}

// forms holds the text of each kind. Parse, String and Algorithms read it, so a name stands only
// here; makers, in makers.go, has what a kind is made of. A new algorithm is a row in each.
var forms = [kinds]form{
	kindNone:      {name: "none"},
	kindAdaptive:  {name: "adaptive"},
	kindEntropy:   {name: "adaptive:entropy"},
	kindPage:      {name: "page", keys: []string{keySIMD}},
	kindPageDense: {name: "page:dense", keys: []string{keySIMD}},
	kindLZ4:       {name: "lz4", keys: []string{keySIMD, keyBackend, keyBatch}},
	kindLZ4Fast:   {name: "lz4:fast", keys: []string{keySIMD, keyBackend, keyBatch}},
	kindZstd:      {name: "zstd", keys: []string{keyLevel, keyDict}, paren: true},
	kindRaw:       {name: "raw"},
}

// The parameters.
const (
	keySIMD    = "simd"
	keyLevel   = "level"
	keyDict    = "dict"
	keyBackend = "backend"
	keyBatch   = "batch"
)

// defaultLevel is the level of "zstd" without a parameter: the C library's default, and so the
// kernel's.
const defaultLevel = 3

// An Algorithm says how pages are to be compressed. It is an immutable value that can be compared
// with ==; two that are equal do the same. Only [Parse] and [Algorithm.WithDictionary] make one:
// the zero value is no algorithm.
type Algorithm struct {
	kind    kind
	level   uint8            // 1 to 19 for kindZstd, else 0
	simd    impl.Set         // the instruction set asked for, or empty
	file    string           // the dictionary's file as it is written, or empty
	dict    *zstd.Dictionary // what is in that file; nil until WithDictionary. Immutable, so that == on the pointer is right
	backend string           // the engine asked for, or empty
	batch   uint32           // pages for it at a time, or 0
}

// String returns the text that [Parse] makes this algorithm of, the shortest if there are several:
// "zstd", not "zstd(level=3)". A dictionary's file name is part of it, the contents are not. For
// the zero value it returns "none", which is no algorithm's name.
func (a Algorithm) String() string {
	f := forms[a.kind]
	var params []string
	for _, key := range f.keys {
		if value := a.param(key); value != "" {
			params = append(params, key+"="+value)
		}
	}
	return f.name + join(params, f.paren)
}

// param returns the value of a parameter as String writes it, or nothing where that is the default.
func (a Algorithm) param(key string) string {
	switch {
	case key == keySIMD:
		return string(a.simd)
	case key == keyLevel && a.level != defaultLevel:
		return strconv.Itoa(int(a.level))
	case key == keyDict:
		return a.file
	case key == keyBackend:
		return a.backend
	case key == keyBatch && a.batch > 0:
		return strconv.Itoa(int(a.batch))
	}
	return ""
}

// Algorithms returns the names to offer where one is to be chosen, as in the comp_algorithm
// attribute, the default first. The caller may keep and change the slice. Parameters, such as
// levels, are not listed.
func Algorithms() []string {
	var names []string
	for _, k := range []kind{kindAdaptive, kindPage, kindPageDense, kindLZ4, kindLZ4Fast, kindZstd, kindRaw} {
		names = append(names, forms[k].name)
	}
	return names
}

// Only returns the ID of all objects that a makes, but for pages that it leaves as they are, where
// a page has one such object whatever made it; None of other algorithms, as those with levels.
func (a Algorithm) Only() ID {
	switch a.kind {
	case kindPage:
		return Page
	case kindPageDense:
		return PageDense
	}
	return None
}

// Reads reports whether what a.NewDecompressor makes can read the objects of b's compressors: it
// reads those of every algorithm, but for other dictionaries than a's.
func (a Algorithm) Reads(b Algorithm) bool { return b.dict == nil || b.dict == a.dict }
