// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// A reader reads samples. It keeps its files open and its buffer, so that a sample
// takes no memory: the process must not grow by looking. It is used by one goroutine.
type reader struct {
	areas                    []string // paths of the device's areas, as in /proc/swaps
	meminfo, swaps, pressure *os.File // pressure is nil where the kernel has none
	text                     [64 << 10]byte
}

// newReader opens the files of the kernel below root, which is "/" but for tests.
func newReader(root string, areas []string) (*reader, error) {
	r := &reader{areas: areas}
	var err, other error
	r.meminfo, err = os.Open(filepath.Join(root, "proc/meminfo"))
	r.swaps, other = os.Open(filepath.Join(root, "proc/swaps"))
	if err := errors.Join(err, other); err != nil {
		return nil, errors.Join(err, r.close())
	}
	// Without PSI (CONFIG_PSI, or psi=0) available memory alone decides.
	if f, err := os.Open(filepath.Join(root, "proc/pressure/memory")); err == nil {
		r.pressure = f
	}
	return r, nil
}

func (r *reader) close() error {
	var all []error
	for _, f := range []*os.File{r.meminfo, r.swaps, r.pressure} {
		if f != nil {
			all = append(all, f.Close())
		}
	}
	return errors.Join(all...)
}

// sample reads what the kernel says now.
func (r *reader) sample() (s sample, err error) {
	text, err := r.read(r.meminfo)
	if err != nil {
		return s, err
	}
	if err := s.parseMeminfo(text); err != nil {
		return s, fmt.Errorf("read %s: %w", r.meminfo.Name(), err)
	}
	if text, err = r.read(r.swaps); err != nil {
		return s, err
	}
	s.own, s.pressure = ownSize(text, r.areas), unknownPressure
	if r.pressure == nil {
		return s, nil
	}
	if text, err = r.read(r.pressure); err != nil { // EOPNOTSUPP: psi=0
		_ = r.pressure.Close() // only read from
		r.pressure = nil
		return s, nil
	}
	s.pressure = someAvg10(text)
	return s, nil
}

// parseMeminfo takes the lines that it needs out of the text of /proc/meminfo.
func (s *sample) parseMeminfo(text []byte) error {
	var all [4]error
	s.swapTotal, all[0] = kibibytes(text, "SwapTotal")
	s.swapFree, all[1] = kibibytes(text, "SwapFree")
	s.memTotal, all[2] = kibibytes(text, "MemTotal")
	s.memAvailable, all[3] = kibibytes(text, "MemAvailable")
	return errors.Join(all[:]...)
}

// read returns what a file holds now, until the next read.
func (r *reader) read(f *os.File) ([]byte, error) {
	n, err := f.ReadAt(r.text[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return r.text[:n], nil
}

var errNoField = errors.New("a line is missing")

// kibibytes returns the value of a line "name:   123 kB" in bytes (proc_meminfo(5)).
func kibibytes(text []byte, name string) (uint64, error) {
	for line := range bytes.Lines(text) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || string(key) != name {
			continue
		}
		if n, ok := number(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB"))); ok {
			return n << 10, nil
		}
	}
	return 0, fmt.Errorf("%w: %s", errNoField, name)
}

// number returns what text says in decimal digits. Package strconv would take memory for the
// string.
func number(text []byte) (n uint64, ok bool) {
	for _, digit := range text {
		if digit < '0' || digit > '9' || n > 1<<50 {
			return 0, false
		}
		n = n*10 + uint64(digit-'0')
	}
	return n, len(text) > 0
}

// ownSize sums the sizes of the areas in the text of /proc/swaps (proc_swaps(5)): path, type, size
// and use in KiB, priority.
func ownSize(text []byte, areas []string) (size uint64) {
	for line := range bytes.Lines(text) {
		// The kernel pads the path with spaces, the rest with tabs.
		path, rest, _ := bytes.Cut(line, []byte(" "))
		if !slices.ContainsFunc(areas, func(area string) bool { return area == string(path) }) {
			continue
		}
		_, rest, _ = bytes.Cut(rest, []byte("\t"))
		kib, _, _ := bytes.Cut(bytes.TrimLeft(rest, "\t"), []byte("\t"))
		if n, ok := number(kib); ok {
			size += n << 10
		}
	}
	return size
}

// someAvg10 returns the first number of "some avg10=0.12 avg60=..."
// (Documentation/accounting/psi.rst) in hundredths, 0 where there is none.
func someAvg10(text []byte) uint64 {
	_, rest, _ := bytes.Cut(text, []byte("some avg10="))
	whole, rest, _ := bytes.Cut(rest, []byte("."))
	part, _, _ := bytes.Cut(rest, []byte(" "))
	n, ok := number(whole)
	hundredths, also := number(part)
	if !ok || !also || len(part) != 2 {
		return 0
	}
	return 100*n + hundredths
}
