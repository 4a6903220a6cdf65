// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/safeopen"
	"github.com/zramfs/zramfs/internal/term"
)

// parseAlgorithm reads the name of an algorithm and its dictionary, and makes the dictionary's path
// absolute: the serving process has another working directory. Its errors are usage errors.
func parseAlgorithm(name string) (codec.Algorithm, error) {
	a, err := codec.Parse(name, engineNames()...)
	if err != nil {
		return a, unknownAlgorithm(name, err)
	}
	file := a.DictionaryFile()
	if file == "" {
		return a, nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return a, usageError("dictionary %s: %w", file, err)
	}
	data, err := safeopen.Read(path, codec.MaxDictionary)
	if err != nil {
		return a, usageError("dictionary: %w", err)
	}
	if a, err = a.WithDictionary(path, data); err != nil {
		return a, usageError("%w", err)
	}
	return a, nil
}

// parseAlgorithms reads a comma-separated list of algorithms, each as parseAlgorithm does.
func parseAlgorithms(list string) ([]codec.Algorithm, error) {
	var all []codec.Algorithm
	for _, name := range splitList(list) {
		a, err := parseAlgorithm(name)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// unknownAlgorithm explains why codec.Parse refused a text: it names no algorithm, or has a bad
// parameter.
func unknownAlgorithm(text string, err error) error {
	known := codec.Algorithms()
	name, _, _ := strings.Cut(text, "(")
	base, _, _ := strings.Cut(name, ":")
	if slices.Contains(known, base) {
		return usageError("%s", strings.TrimPrefix(err.Error(), "unknown "))
	}
	hint := "."
	if near, ok := config.KernelAlgorithms[name]; ok {
		hint = " (kernel zram's): the nearest is " + near + "."
	} else if near := term.Nearest(base, known); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return usageError("unknown algorithm %q%s Available: %s", text, hint, strings.Join(known, ", "))
}

// splitList cuts at commas outside parentheses: those inside belong to an algorithm, as in
// zstd(level=3,dict=FILE).
func splitList(list string) []string {
	var names []string
	depth, begin := 0, 0
	for i, c := range list {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth <= 0 {
				names = append(names, list[begin:i])
				begin = i + 1
			}
		}
	}
	return append(names, list[begin:])
}
