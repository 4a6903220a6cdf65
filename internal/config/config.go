// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/zramfs/zramfs/internal/host"
)

// A Flag is a flag that may be a key.
type Flag struct {
	Name string
	Yes  bool // the value is true or false
}

// A Config is everything that the files say. It is not changed after [Load] but by its caller.
type Config struct {
	Files    []string // those that were read, in this order; a later one overrides an earlier one
	RAM      uint64   // bytes: what expressions have been computed with, 0 if unknown
	Sections []*Section
	Problems []Problem
	// Real follows the links in an absolute path for [Config.At]; nil for no such look.
	Real func(path string) string
}

// A Section has the settings of one device.
type Section struct {
	Name     string // zram0
	Dir      string // mount point of the device
	File     string // where the section begins first
	Line     int
	Settings []Setting // in effect, at most one for each flag
	Off      string    // why this machine does not get the device; empty if it does
}

// A Setting is the value of a key in a section.
type Setting struct {
	Key     string // as it is written
	Written string // its value, as it is written
	Flag    string // the flag that it sets; empty for a key that only files have
	Value   string // the value of the flag
	Note    string // why that is another one than the file asks for; empty for none
	File    string
	Line    int
}

// A Problem is an error in a file. Section is empty for an error that could concern any device.
type Problem struct {
	File    string
	Line    int // 0 for the file as a whole
	Section string
	What    string
}

// String returns the place and the error.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.What
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What)
}

// Problem adds an error in a setting.
func (c *Config) Problem(s *Section, at Setting, what string) {
	c.Problems = append(c.Problems, Problem{at.File, at.Line, s.Name, what})
}

// SortProblems puts the problems into the order of the files and lines.
func (c *Config) SortProblems() {
	slices.SortStableFunc(c.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(slices.Index(c.Files, a.File), slices.Index(c.Files, b.File)), cmp.Compare(a.Line, b.Line))
	})
}

// Concerns returns the problems of the section of this name, and those of any device.
func (c *Config) Concerns(name string) (all []Problem) {
	for _, p := range c.Problems {
		if p.Section == "" || p.Section == name {
			all = append(all, p)
		}
	}
	return all
}

// Load reads the configuration below root. Expressions are computed with ram bytes of memory; 0
// means that it is unknown. The error is one of finding the files; what is wrong in them are
// problems.
func Load(root host.Root, ram uint64, flags []Flag) (*Config, error) {
	files, err := find(root)
	if err != nil {
		return nil, err
	}
	c := &Config{RAM: ram}
	l := &loader{Config: c, keys: keysOf(flags)}
	for _, file := range files {
		l.read(root, file)
	}
	slices.SortFunc(c.Sections, func(a, b *Section) int { return cmp.Compare(Number(a.Name), Number(b.Name)) })
	for _, s := range c.Sections {
		l.convert(s)
		c.finish(s)
	}
	return c, nil
}

// finish computes what a section says about the device as a whole.
func (c *Config) finish(s *Section) {
	s.Dir = defaultDir(s.Name)
	for _, at := range s.Settings {
		switch {
		case at.Key == keyDir:
			s.Dir = at.Value
		case at.Flag == flagSize && at.Value == NoSize:
			s.Off = fmt.Sprintf("its size is 0 (%s:%d)", at.File, at.Line)
		case at.Key == keyFSType:
			s.Off = fmt.Sprintf("its %s is %s (%s:%d)", keyFSType, at.Value, at.File, at.Line)
		case at.Flag == "" && c.RAM > 0 && exceeds(c.RAM, at.Value):
			s.Off = fmt.Sprintf("this machine has %d MiB of memory, more than its %s of %s MiB (%s:%d)", c.RAM>>20, keyHostLimit, at.Value, at.File, at.Line)
		}
	}
	for _, other := range c.Sections {
		if other == s {
			break
		}
		if other.Dir == s.Dir {
			c.Problems = append(c.Problems, Problem{s.File, s.Line, s.Name, fmt.Sprintf("[%s] and [%s] are both for %s: set the key %s of one of them", other.Name, s.Name, s.Dir, keyDir)})
		}
	}
}

// exceeds reports whether ram bytes are more than limit, in MiB.
func exceeds(ram uint64, limit string) bool {
	mib, err := strconv.ParseFloat(limit, 64)
	return err == nil && float64(ram) > mib*(1<<20)
}

// targetOf names what a setting sets. Two keys may set one thing.
func targetOf(s Setting) string {
	if s.Flag != "" {
		return s.Flag
	}
	if s.Key == keyMemoryLimit {
		return keyHostLimit
	}
	return s.Key
}

// absolute reports whether path is a cleaned absolute one.
func absolute(path string) bool { return filepath.IsAbs(path) && filepath.Clean(path) == path }
