// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/zramfs/zramfs/internal/term"
)

// Keys that only files have.
const (
	keyDir         = "dir"
	keyHostLimit   = "host-memory-limit"
	keyMemoryLimit = "memory-limit" // its old name
	keyFSType      = "fs-type"

	flagSize      = "size" // the flag that zram-size sets
	flagAlgorithm = "algorithm"
	flagSpill     = "spill"
)

// NoSize is the size of a device that there is not to be.
const NoSize = "0M"

// none takes the value of a key back.
const none = "none"

// KernelAlgorithms are kernel zram's algorithms that zramfs lacks, each with the nearest of ours.
var KernelAlgorithms = map[string]string{"lzo": "lz4", "lzo-rle": "lz4", "lz4hc": "page:dense", "842": "lz4", "deflate": "zstd"}

// A key is what a line may set.
type key struct {
	flag   string // the flag that it sets; empty for none
	refuse string // why no line may set it
	// convert returns the value of the flag; with an empty one the default takes effect again. ram
	// is in MiB. note says why the value is another one than was written.
	convert func(written string, ram float64) (value, note string, err error)
}

// foreignKeys are the keys of zram-generator.
var foreignKeys = map[string]key{
	"zram-size":             {flag: flagSize, convert: expressionSize},
	"zram-resident-limit":   {flag: "mem-limit", convert: expressionSize},
	"compression-algorithm": {flag: flagAlgorithm, convert: kernelAlgorithm},
	"writeback-device":      {flag: flagSpill, convert: path},
	"swap-priority":         {flag: "priority", convert: priority},
	"options":               {flag: "discard", convert: swapOptions},
	keyHostLimit:            {convert: hostLimit},
	keyMemoryLimit:          {convert: hostLimit},
	keyFSType:               {convert: onlySwap},
	"mount-point":           {refuse: "a section makes swap and no file system: serve a device with zramfs mount, and use it as any block device"},
	"zram-fraction":         {refuse: "it is obsolete: write an expression, as zram-size = ram * 0.5"},
	"max-zram-size":         {refuse: "it is obsolete: write an expression, as zram-size = min(ram / 2, 4096)"},
}

// names returns the names of the keys that a line may set, in alphabetical order.
func names(keys map[string]key) (all []string) {
	for name, k := range keys {
		if k.refuse == "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// keysOf returns all keys, by name: one for each flag, and those that only files have.
func keysOf(flags []Flag) map[string]key {
	keys := map[string]key{keyDir: {convert: directory}}
	maps.Copy(keys, foreignKeys)
	for _, f := range flags {
		k := key{flag: f.Name, convert: plain}
		switch {
		case f.Yes:
			k.convert = yes
		case f.Name == flagAlgorithm:
			k.convert = algorithm
		case f.Name == flagSpill:
			k.convert = path
		}
		keys[f.Name] = k
	}
	return keys
}

// plain is the value of a flag as it is written. An empty one takes a setting of an earlier file
// back.
func plain(written string, _ float64) (value, note string, err error) { return written, "", nil }

// yes reads what systemd.syntax(7) calls a boolean.
func yes(written string, _ float64) (value, note string, err error) {
	switch strings.ToLower(written) {
	case "":
		return "", "", nil
	case "yes", "true", "on", "y", "t", "1":
		return "true", "", nil
	case "no", "false", "off", "n", "f", "0":
		return "false", "", nil
	}
	return "", "", errors.New("neither yes nor no")
}

func directory(written string, _ float64) (value, note string, err error) {
	if written != "" && !absolute(written) {
		return "", "", errors.New("no absolute path: write one as " + DefaultDir)
	}
	return written, "", nil
}

// path reads the path of a backing device, or none.
func path(written string, _ float64) (value, note string, err error) {
	switch {
	case written == none:
		return "", "", nil
	case written != "" && !filepath.IsAbs(written):
		return "", "", errors.New("no absolute path: write one as /dev/disk/by-partlabel/spill, or none")
	}
	return written, "", nil
}

// expressionSize computes a size in MiB. It is rounded up to whole KiB, and the flag's reader to
// pages.
func expressionSize(written string, ram float64) (value, note string, err error) {
	if written == "" {
		return "", "", nil
	}
	if ram == 0 {
		return "", "", errors.New("the memory of this machine is not known")
	}
	mib, err := Evaluate(written, ram)
	switch {
	case err != nil:
		return "", "", err
	case mib < 0:
		return "", "", fmt.Errorf("it is negative: %g MiB", mib)
	case mib > term.MaxSize>>20:
		return "", "", fmt.Errorf("%g MiB is beyond %s, the largest that can be; the unit is MiB", mib, term.Size(term.MaxSize))
	case mib == 0: // -0 too
		return NoSize, "", nil
	case mib == math.Trunc(mib):
		return fmt.Sprintf("%.0fM", mib), "", nil
	}
	return fmt.Sprintf("%.0fK", math.Ceil(mib*1024)), "", nil
}

// algorithm reads an algorithm of ours. The path of a dictionary in its parameters is absolute.
func algorithm(written string, _ float64) (value, note string, err error) {
	_, dictionary, has := strings.Cut(written, "dict=")
	if has && !filepath.IsAbs(dictionary) {
		return "", "", fmt.Errorf("dict=%s is no absolute path", strings.TrimRight(dictionary, ")"))
	}
	return written, "", nil
}

// kernelAlgorithm takes the first of a list of algorithms, each with parameters in parentheses. Our
// nearest stands for one that only the kernel has. Further ones are for recompression.
func kernelAlgorithm(written string, _ float64) (value, note string, err error) {
	written = strings.TrimSpace(written)
	end := strings.IndexFunc(written, func(r rune) bool { return r == '(' || unicode.IsSpace(r) })
	if end < 0 {
		end = len(written)
	}
	name, rest := written[:end], strings.TrimSpace(written[end:])
	first := name
	if strings.HasPrefix(rest, "(") {
		behind := strings.Index(rest, ")") + 1
		if behind == 0 { // the flag's reader refuses it
			behind = len(rest)
		}
		first, rest = name+rest[:behind], strings.TrimSpace(rest[behind:])
	}
	var notes []string
	if near, ok := KernelAlgorithms[name]; ok {
		notes = append(notes, fmt.Sprintf("%s is kernel zram's: %s is the nearest", first, near))
		first = near
	}
	if rest != "" {
		notes = append(notes, rest+" is for recompression and left out")
	}
	value, _, err = algorithm(first, 0)
	return value, strings.Join(notes, "; "), err
}

// priority reads the priority of swap; -1 leaves it to the kernel, whose own ones are below 0.
func priority(written string, _ float64) (value, note string, err error) {
	if written == "-1" {
		return "0", "the kernel would choose: 0 is the lowest that can be given", nil
	}
	return written, "", nil
}

// swapOptions reads options of swapon. Empty means none.
func swapOptions(written string, _ float64) (value, note string, err error) {
	value = none
	for option := range strings.SplitSeq(written, ",") {
		switch strings.TrimSpace(option) {
		case "", "defaults", "nofail":
		case "discard":
			value = "both"
		case "discard=once":
			value = "once"
		case "discard=pages":
			value = "pages"
		default:
			return "", "", fmt.Errorf("%q is no option of swap here: use discard, discard=once or discard=pages", option)
		}
	}
	return value, "", nil
}

// hostLimit reads a number of MiB, or none.
func hostLimit(written string, _ float64) (value, note string, err error) {
	if written == "" || written == none {
		return "", "", nil
	}
	if n, err := strconv.ParseFloat(written, 64); err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		return "", "", errors.New("neither a number of MiB nor none")
	}
	return written, "", nil
}

// onlySwap reads a type of file system: swap, or none for no device.
func onlySwap(written string, _ float64) (value, note string, err error) {
	switch written {
	case "", "swap":
		return "", "", nil
	case none:
		return none, "", nil
	}
	return "", "", errors.New("a section makes swap and no file system: write swap, or leave it out")
}
