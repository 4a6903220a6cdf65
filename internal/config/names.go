// SPDX-License-Identifier: Apache-2.0

package config

import (
	"path/filepath"
	"strconv"
	"strings"
)

// DefaultDir is the directory of the device zram0 unless a section says otherwise.
const DefaultDir = "/run/zram"

// FirstName is the name of the device at [DefaultDir].
const FirstName = "zram0"

// Dir returns the directory of the device of this name: the name of a section, which is that of the
// device in zramctl too, or the instance of a unit. It is the section's directory where there is
// one, [DefaultDir] for zram0, and /run/NAME for others.
func (c *Config) Dir(name string) string {
	if s := c.Named(name); s != nil {
		return s.Dir
	}
	return defaultDir(name)
}

// Name returns the name of the device at an absolute path dir: the one for which [Config.Dir]
// returns dir. It is empty where there is none.
func (c *Config) Name(dir string) string {
	if s := c.At(dir); s != nil {
		return s.Name
	}
	name := filepath.Base(dir)
	if dir == DefaultDir {
		name = FirstName
	}
	if c.Dir(name) != dir {
		return ""
	}
	return name
}

// Named returns the section of this name, or nil.
func (c *Config) Named(name string) *Section {
	for _, s := range c.Sections {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// At returns the section of the device at dir, or nil. Where no section names that directory, it is
// the one whose directory the links in both lead to.
func (c *Config) At(dir string) *Section {
	for _, s := range c.Sections {
		if s.Dir == dir {
			return s
		}
	}
	if c.Real == nil {
		return nil
	}
	dir = c.Real(dir)
	for _, s := range c.Sections {
		if c.Real(s.Dir) == dir {
			return s
		}
	}
	return nil
}

// defaultDir is [Config.Dir] without a configuration.
func defaultDir(name string) string {
	if name == FirstName {
		return DefaultDir
	}
	return PlainDir(name)
}

// PlainDir returns the directory that a name is the last element of.
func PlainDir(name string) string { return filepath.Join(filepath.Dir(DefaultDir), name) }

// IsName reports whether a name can be one of a device: one element of a path.
func IsName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/")
}

// maxSections bounds the numbers of sections.
const maxSections = 1000

// Number returns the number in zramN, or -1 for a name that is none of a section.
func Number(name string) int {
	digits, ok := strings.CutPrefix(name, "zram")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n >= maxSections || strconv.Itoa(n) != digits {
		return -1
	}
	return n
}
