// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"strconv"
	"strings"

	"zramfs/codec/zstd"
)

// kind is what an Algorithm does, without its parameter.
type kind uint8

const (
	kindNone kind = iota
	kindAdaptive
	kindEntropy
	kindLZ4
	kindZstd
	kindRaw
)

// names holds the text of each kind. Parse, String and Algorithms read it, so a name stands only here.
var names = [...]string{
	kindNone:     "none",
	kindAdaptive: "adaptive",
	kindEntropy:  "adaptive:entropy",
	kindLZ4:      "lz4",
	kindZstd:     "zstd",
	kindRaw:      "raw",
}

// accepted says in an error what may be written instead.
const accepted = "use adaptive, adaptive:entropy, lz4, zstd, zstd(level=1) to zstd(level=19), or raw"

// defaultLevel is the level of "zstd" without a parameter: the C library's default, and so the kernel's.
const defaultLevel = 3

// An Algorithm says how pages are to be compressed. It is an immutable value that can be compared with ==; two that are
// equal do the same. Only [Parse] makes one: the zero value is no algorithm.
type Algorithm struct {
	kind  kind
	level uint8 // 1 to 19 for kindZstd, else 0
}

// Parse returns the algorithm that s names: "adaptive", "adaptive:entropy", "lz4", "zstd", "zstd(level=N)" with N from 1 to
// 19, or "raw". Names are lower case and without spaces, as in the kernel's comp_algorithm. For any other s it returns an
// error of one line that wraps [ErrUnknownAlgorithm] and says what is accepted.
func Parse(s string) (Algorithm, error) {
	for k := kindAdaptive; k <= kindRaw; k++ {
		if s != names[k] {
			continue
		}
		if k == kindZstd {
			return Algorithm{kind: k, level: defaultLevel}, nil
		}
		return Algorithm{kind: k}, nil
	}
	if level, ok := parseLevel(s); ok {
		return Algorithm{kind: kindZstd, level: level}, nil
	}
	return Algorithm{}, fmt.Errorf("%w %q: %s", ErrUnknownAlgorithm, s, accepted)
}

// parseLevel returns N of "zstd(level=N)".
func parseLevel(s string) (level uint8, ok bool) {
	rest, ok := strings.CutPrefix(s, names[kindZstd]+"(level=")
	if !ok {
		return 0, false
	}
	digits, ok := strings.CutSuffix(rest, ")")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 8)
	// The digits must be those that String writes: no leading zero.
	if err != nil || n < zstd.MinLevel || n > zstd.MaxLevel || strconv.FormatUint(n, 10) != digits {
		return 0, false
	}
	return uint8(n), true
}

// String returns the text that [Parse] makes this algorithm of, the shortest if there are several: "zstd", not
// "zstd(level=3)". For the zero value it returns "none", which is no algorithm's name.
func (a Algorithm) String() string {
	if a.kind == kindZstd && a.level != defaultLevel {
		return fmt.Sprintf("%s(level=%d)", names[kindZstd], a.level)
	}
	return names[a.kind]
}

// Algorithms returns the names to offer where one is to be chosen, as in the comp_algorithm attribute, the default first.
// The caller may keep and change the slice. Variants of a name, such as levels, are not listed.
func Algorithms() []string {
	return []string{names[kindAdaptive], names[kindLZ4], names[kindZstd], names[kindRaw]}
}
