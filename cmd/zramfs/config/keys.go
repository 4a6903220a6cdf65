// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
)

// Keys that only files have.
const (
	keyDir         = "dir"
	keyHostLimit   = "host-memory-limit"
	keyMemoryLimit = "memory-limit" // its old name

	flagSize = "size" // the flag that zram-size sets
)

// A key is what a line may set.
type key struct {
	flag   string // the flag that it sets; empty for none
	refuse string // why no line may set it
	// convert returns the value of the flag. Without keep the default takes effect again. ram is in
	// MiB.
	convert func(written string, ram float64) (value string, keep bool, err error)
}

// foreignKeys are the keys of zram-generator.
var foreignKeys = map[string]key{
	"zram-size":             {flag: flagSize, convert: expressionSize},
	"zram-resident-limit":   {flag: "mem-limit", convert: expressionSize},
	"compression-algorithm": {flag: "algorithm", convert: algorithm},
	"writeback-device":      {flag: "spill", convert: plain},
	"swap-priority":         {flag: "priority", convert: plain},
	"options":               {flag: "discard", convert: swapOptions},
	keyHostLimit:            {convert: hostLimit},
	keyMemoryLimit:          {convert: hostLimit},
	"fs-type":               {convert: onlySwap},
	"mount-point":           {refuse: "a section makes swap and no file system: serve a device with zramfs mount, and use it as any block device"},
	"zram-fraction":         {refuse: "it is obsolete: write an expression, as zram-size = ram * 0.5"},
	"max-zram-size":         {refuse: "it is obsolete: write an expression, as zram-size = min(ram / 2, 4096)"},
}

// Keys returns the names of the keys that a line may set, in alphabetical order.
func Keys(flags []Flag) []string { return names(keysOf(flags)) }

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
	for name, k := range foreignKeys {
		keys[name] = k
	}
	for _, f := range flags {
		k := key{flag: f.Name, convert: plain}
		if f.Yes {
			k.convert = yes
		}
		keys[f.Name] = k
	}
	return keys
}

// plain is the value of a flag as it is written. An empty one takes a setting of an earlier file
// back.
func plain(written string, _ float64) (string, bool, error) { return written, written != "", nil }

// yes reads what systemd.syntax(7) calls a boolean.
func yes(written string, _ float64) (string, bool, error) {
	switch strings.ToLower(written) {
	case "":
		return "", false, nil
	case "yes", "true", "on", "y", "t", "1":
		return "true", true, nil
	case "no", "false", "off", "n", "f", "0":
		return "false", true, nil
	}
	return "", false, errors.New("neither yes nor no")
}

func directory(written string, _ float64) (string, bool, error) {
	if written != "" && !absolute(written) {
		return "", false, errors.New("no absolute path: write one as " + DefaultDir)
	}
	return written, written != "", nil
}

// expressionSize computes a size in MiB. It is rounded up to whole KiB, and the flag's reader to
// pages.
func expressionSize(written string, ram float64) (string, bool, error) {
	if written == "" {
		return "", false, nil
	}
	if ram == 0 {
		return "", false, errors.New("the memory of this machine is not known")
	}
	mib, err := Evaluate(written, ram)
	switch {
	case err != nil:
		return "", false, err
	case mib < 0:
		return "", false, fmt.Errorf("it is negative: %g MiB", mib)
	case mib > term.MaxSize>>20:
		return "", false, fmt.Errorf("%g MiB is beyond %s, the largest that can be; the unit is MiB", mib, term.Size(term.MaxSize))
	case mib == 0: // -0 too
		return "0M", true, nil
	case mib == math.Trunc(mib):
		return fmt.Sprintf("%.0fM", mib), true, nil
	}
	return fmt.Sprintf("%.0fK", math.Ceil(mib*1024)), true, nil
}

// algorithm takes the first of a list of algorithms, each with parameters in parentheses. Further
// ones are for recompression.
func algorithm(written string, _ float64) (string, bool, error) {
	fields := strings.Fields(strings.ReplaceAll(written, "(", " ("))
	if len(fields) == 0 {
		return "", false, nil
	}
	value := fields[0]
	if len(fields) > 1 && fields[1][0] == '(' {
		value += fields[1]
		fields = fields[1:]
	}
	if len(fields) > 1 {
		return "", false, fmt.Errorf("%s is for recompression, which a section does not set: name one algorithm, and set the other by zramfs set recomp-algorithm", fields[1])
	}
	return value, true, nil
}

// swapOptions reads options of swapon. Empty means none.
func swapOptions(written string, _ float64) (string, bool, error) {
	value := "none"
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
			return "", false, fmt.Errorf("%q is no option of swap here: use discard, discard=once or discard=pages", option)
		}
	}
	return value, true, nil
}

// hostLimit reads a number of MiB, or none.
func hostLimit(written string, _ float64) (string, bool, error) {
	if written == "" || written == "none" {
		return "", false, nil
	}
	if n, err := strconv.ParseFloat(written, 64); err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		return "", false, errors.New("neither a number of MiB nor none")
	}
	return written, true, nil
}

func onlySwap(written string, _ float64) (string, bool, error) {
	if written != "" && written != "swap" {
		return "", false, errors.New("a section makes swap and no file system: write swap, or leave it out")
	}
	return "", false, nil
}
