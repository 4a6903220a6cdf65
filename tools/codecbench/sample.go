// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/pages/pagefile"
)

// A sample is pages that are not same-filled, of one program or of several.
type sample struct {
	name  string
	pages [][]byte
	same  int // same-filled pages that were left out
}

// findPages returns the path of the page file: what ZRAMFS_PAGES names, or that of the repository,
// whose root is two directories above this module's.
func findPages() (string, error) {
	path, err := pagefile.Find()
	if !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	here, err := pagefile.Default()
	if err != nil {
		return "", err
	}
	cache, name := filepath.Split(here)
	return filepath.Join(filepath.Dir(filepath.Clean(cache)), "..", "..", filepath.Base(filepath.Clean(cache)), name), nil
}

// loadSamples reads the page file and returns a sample for each program, of those that only names
// and without does not. Both may be empty; a name that no program has is an error.
func loadSamples(path string, only, without []string) ([]sample, error) {
	programs, err := pagefile.Load(path)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(only, without) {
		if !slices.ContainsFunc(programs, func(p pagefile.Program) bool { return p.Name == name }) {
			return nil, fmt.Errorf("%s has no program %q", path, name)
		}
	}
	var all []sample
	for _, p := range programs {
		if len(only) > 0 && !slices.Contains(only, p.Name) || slices.Contains(without, p.Name) {
			continue
		}
		all = append(all, split(p.Name, p.Pages))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no program of %s is left", path)
	}
	return all, nil
}

// split cuts memory into pages and leaves the same-filled ones out.
func split(name string, memory []byte) sample {
	s := sample{name: name}
	for at := 0; at+codec.PageSize <= len(memory); at += codec.PageSize {
		page := memory[at : at+codec.PageSize : at+codec.PageSize]
		if sameFilled(page) {
			s.same++
			continue
		}
		s.pages = append(s.pages, page)
	}
	return s
}

// join makes one sample of several.
func join(name string, parts []sample) sample {
	all := sample{name: name}
	for _, p := range parts {
		all.pages = append(all.pages, p.pages...)
		all.same += p.same
	}
	return all
}

// sameFilled reports whether a page is one 8-byte word repeated.
func sameFilled(page []byte) bool {
	word := binary.LittleEndian.Uint64(page)
	for at := 8; at < len(page); at += 8 {
		if binary.LittleEndian.Uint64(page[at:]) != word {
			return false
		}
	}
	return true
}
