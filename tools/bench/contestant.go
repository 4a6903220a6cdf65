// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// defaultName is the contestant of a run that names none.
const defaultName = "zramfs"

// A contestant is one way to run zramfs. All fields are immutable.
type contestant struct {
	// name heads what is printed of it.
	name string
	// binary is the path of the program.
	binary string
	// flags stand behind "mount" or "up".
	flags []string
}

// contestants returns what is measured: those that are named as
// NAME=[PROGRAM] [FLAGS], or binary alone, each with the flags for all before its
// own. Without binary and names there are none.
func contestants(binary string, forAll, named []string) ([]contestant, error) {
	if len(named) == 0 && binary != "" {
		one, err := newContestant(defaultName, binary, forAll)
		return []contestant{one}, err
	}
	var all []contestant
	for _, text := range named {
		one, err := parseContestant(text, binary, forAll)
		if err != nil {
			return nil, fmt.Errorf("-contestant %q: %w", text, err)
		}
		if slices.ContainsFunc(all, func(c contestant) bool { return c.name == one.name }) {
			return nil, fmt.Errorf("-contestant %q: the name is used twice", text)
		}
		all = append(all, one)
	}
	return all, nil
}

func parseContestant(text, binary string, forAll []string) (contestant, error) {
	name, rest, ok := strings.Cut(text, "=")
	if !ok || name == "" || strings.ContainsAny(name, " \t-") {
		return contestant{}, errors.New("want NAME=[PROGRAM] [FLAGS], with a name of letters")
	}
	if name == zramName {
		return contestant{}, fmt.Errorf("%s is the kernel's", zramName)
	}
	fields := strings.Fields(rest)
	if len(fields) > 0 && !strings.HasPrefix(fields[0], "-") {
		binary, fields = fields[0], fields[1:]
	}
	if binary == "" {
		return contestant{}, errors.New("it names no program, and there is no -binary")
	}
	return newContestant(name, binary, slices.Concat(forAll, fields))
}

// newContestant makes the path of the program absolute, so that it is never looked
// up in PATH.
func newContestant(name, binary string, flags []string) (contestant, error) {
	path, err := filepath.Abs(binary)
	if err != nil {
		return contestant{}, fmt.Errorf("find %s: %w", binary, err)
	}
	return contestant{name: name, binary: path, flags: flags}, nil
}

// says returns the flags as they stand in a report.
func (c contestant) says() string {
	if len(c.flags) == 0 {
		return ""
	}
	return ", " + strings.Join(c.flags, " ")
}

// program returns the path by which the kernel knows the program: without symbolic
// links.
func (c contestant) program() string {
	if path, err := filepath.EvalSymlinks(c.binary); err == nil {
		return path
	}
	return c.binary
}
