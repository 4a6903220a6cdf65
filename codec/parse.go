// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/zramfs/zramfs/codec/internal/impl"
	"github.com/zramfs/zramfs/codec/zstd"
)

// Parse returns the algorithm that s names. The grammar is
//
//	name[:variant][:key=value]...        lz4   lz4:fast   lz4:simd=avx2   adaptive:entropy
//	name[:variant](key=value,...)        zstd(level=1)   zstd(level=3,dict=/etc/zramfs.dict)
//
// in lower case and without spaces, as in the kernel's comp_algorithm. The package comment lists
// the names; their parameters are, in any order and each at most once:
//
//	simd=SET       the largest instruction set to use: avx512, avx2, neon or generic
//	level=N        1 to 19
//	dict=FILE      a dictionary; its bytes come by [Algorithm.WithDictionary]
//	backend=NAME   the engine for bulk work, one of engines, or an error that wraps [ErrNoEngine]
//	batch=N        how many pages that engine is given at a time
//
// For anything else it returns an error of one line that wraps [ErrUnknownAlgorithm] and says what
// is accepted in its place. Parse reads no file. Engines are those that the caller has for bulk
// work; an Algorithm with one of them makes the same compressors as without.
func Parse(s string, engines ...string) (Algorithm, error) {
	name, params, err := split(s)
	if err != nil {
		return Algorithm{}, fmt.Errorf("%w %q: %w", ErrUnknownAlgorithm, s, err)
	}
	k := kindOf(name)
	if k == kindNone {
		return Algorithm{}, fmt.Errorf("%w %q: use %s", ErrUnknownAlgorithm, s, accepted(engines))
	}
	a := Algorithm{kind: k}
	if k == kindZstd {
		a.level = defaultLevel
	}
	if err := a.setAll(params, engines); err != nil {
		return Algorithm{}, fmt.Errorf("%w %q: %w", ErrUnknownAlgorithm, s, err)
	}
	return a, nil
}

// split takes s apart into a name with its variant and parameters, each as key=value.
func split(s string) (name string, params []string, err error) {
	end := strings.IndexAny(s, "(=")
	if end < 0 {
		return s, nil, nil
	}
	if s[end] == '(' {
		inner, ok := strings.CutSuffix(s[end+1:], ")")
		if !ok {
			return "", nil, errors.New("a closing parenthesis is missing at the end")
		}
		return s[:end], strings.Split(inner, ","), nil
	}
	colon := strings.LastIndexByte(s[:end], ':')
	if colon < 0 {
		return s, nil, nil // no name that we know has an equals sign
	}
	return s[:colon], strings.Split(s[colon+1:], ":"), nil
}

// join is the other way of split, where parameters may stand in either form. A file's name may rule
// one of them out.
func join(params []string, paren bool) string {
	switch {
	case len(params) == 0:
		return ""
	case paren && !strings.Contains(strings.Join(params, ""), ","):
		return "(" + strings.Join(params, ",") + ")"
	default:
		return ":" + strings.Join(params, ":")
	}
}

// kindOf returns the kind that is called name, kindNone if there is none.
func kindOf(name string) kind {
	for k := kindNone + 1; k < kinds; k++ {
		if forms[k].name == name {
			return k
		}
	}
	return kindNone
}

// accepted lists the names for an error.
func accepted(engines []string) string {
	var text strings.Builder
	for k := kindNone + 1; k < kinds; k++ {
		switch k {
		case kindNone + 1:
		case kinds - 1:
			text.WriteString(" or ")
		default:
			text.WriteString(", ")
		}
		text.WriteString(forms[k].name)
		if keys := forms[k].keys; len(keys) > 0 {
			text.WriteString(" (" + strings.Join(offered(keys, engines), "=, ") + "=)")
		}
	}
	return text.String()
}

// setAll sets the parameters, each written key=value.
func (a *Algorithm) setAll(params, engines []string) error {
	f := forms[a.kind]
	seen := map[string]string{}
	for _, param := range params {
		key, value, ok := strings.Cut(param, "=")
		if _, twice := seen[key]; twice {
			return fmt.Errorf("%s is given twice", key)
		}
		switch {
		case len(f.keys) == 0:
			return fmt.Errorf("%s takes no parameters", f.name)
		case !ok || !slices.Contains(f.keys, key):
			return fmt.Errorf("%s takes the parameters %s=, not %q", f.name, strings.Join(offered(f.keys, engines), "=, "), param)
		}
		seen[key] = value
		if err := a.set(key, value); err != nil {
			return err
		}
	}
	return checkEngine(seen, engines)
}

// set sets one parameter.
func (a *Algorithm) set(key, value string) error {
	switch key {
	case keySIMD:
		if !impl.Has(impl.Set(value)) {
			return fmt.Errorf("simd=%q is not available: this machine has %s", value, usableSets())
		}
		a.simd = impl.Set(value)
	case keyLevel:
		n, ok := parseNumber(value, zstd.MinLevel, zstd.MaxLevel)
		if !ok {
			return fmt.Errorf("level=%q: levels are %d to %d", value, zstd.MinLevel, zstd.MaxLevel)
		}
		a.level = uint8(n)
	case keyDict:
		if err := checkFile(value); err != nil {
			return err
		}
		a.file = value
	case keyBackend:
		a.backend = value // which checkEngine looks at
	case keyBatch:
		n, ok := parseNumber(value, 1, maxBatch)
		if !ok {
			return fmt.Errorf("batch=%q: a batch is of 1 to %d pages", value, maxBatch)
		}
		a.batch = uint32(n)
	}
	return nil
}

// parseNumber reads a number from low to high as String writes it: no sign and no leading zero.
func parseNumber(digits string, low, high uint64) (n uint64, ok bool) {
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && n >= low && n <= high && strconv.FormatUint(n, 10) == digits
}

// checkFile refuses the name of a file that String could not write, or that would break the
// comp_algorithm attribute, in which spaces separate the names and brackets stand around one.
func checkFile(name string) error {
	if name == "" {
		return errors.New("dict= needs a file")
	}
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '[' || r == ']' }
	if strings.ContainsFunc(name, odd) || strings.Contains(name, ",") && strings.Contains(name, ":") {
		return fmt.Errorf("dict=%q: the name of a dictionary's file must not contain spaces, brackets, control characters, or both comma and colon", name)
	}
	return nil
}

// usableSets lists the instruction sets of this machine for an error.
func usableSets() string {
	sets := impl.Usable()
	words := make([]string, len(sets))
	for i, set := range sets {
		words[i] = string(set)
	}
	return strings.Join(words, ", ")
}
