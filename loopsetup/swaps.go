// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// procSwaps is the kernel's table of active swap areas, described in proc(5) and written by
// swap_show in mm/swapfile.c.
const procSwaps = "/proc/swaps"

// tableMost is more than the kernel returns of the table in one call, in bytes: a page of lines.
const tableMost = 64 << 10

// swaps reads the table.
func swaps() ([]Swap, error) {
	f, err := os.Open(procSwaps)
	if err != nil {
		return nil, err
	}
	b, err := readTable(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	areas, err := ParseSwaps(b)
	for i := range areas {
		areas[i].place()
	}
	return areas, err
}

// place looks up the path of an area, and gives a loop device its own.
func (s *Swap) place() {
	if s.Type == "file" {
		s.Found = true
		return
	}
	if s.Type != "partition" {
		return // of no kernel
	}
	name, size, err := deviceAt(s.Path)
	page := uint64(os.Getpagesize())
	if err != nil || s.Size+page > size { // another mount namespace has that path
		return
	}
	// A namespace of zramfs exec has the names of zram for other devices. A device of such a name
	// is this one if all of it is swap.
	s.Found = s.Size+page == size/page*page || !strings.HasPrefix(name, "zram")
	if n, err := loopNumber(name); err == nil {
		s.Path = devPath(n)
	}
}

// readTable reads the table in as few calls as can be, one for the 22 to 32 areas that there may
// be. The kernel begins each call at the number of lines that it has returned: where an area was
// turned off since, it leaves out the one that has moved into its place.
func readTable(f io.Reader) (table []byte, err error) {
	part := make([]byte, tableMost)
	for {
		n, err := f.Read(part)
		table = append(table, part[:n]...)
		switch {
		case errors.Is(err, io.EOF) || err == nil && n == 0:
			return table, nil
		case err != nil:
			return nil, err
		}
	}
}

// ParseSwaps understands the text of /proc/swaps: a heading, then one area a line.
func ParseSwaps(text []byte) ([]Swap, error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	if !lines.Scan() {
		return nil, lines.Err()
	}
	var areas []Swap
	for lines.Scan() {
		s, err := parseSwap(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", lines.Text(), err)
		}
		areas = append(areas, s)
	}
	return areas, lines.Err()
}

// parseSwap understands one line: path, type, size and use in KiB, priority. White space within the
// path is escaped, so the fields can be split before they are read.
func parseSwap(line string) (Swap, error) {
	f := strings.Fields(line)
	if len(f) != 5 {
		return Swap{}, fmt.Errorf("%d fields instead of 5", len(f))
	}
	path, deleted := splitDeleted(unescape(f[0]))
	s := Swap{Path: nodePath(path, f[1]), Deleted: deleted, Type: f[1]}
	var err error
	if s.Size, err = parseKiB(f[2]); err != nil {
		return Swap{}, fmt.Errorf("size: %w", err)
	}
	if s.Used, err = parseKiB(f[3]); err != nil {
		return Swap{}, fmt.Errorf("used: %w", err)
	}
	if s.Priority, err = strconv.Atoi(f[4]); err != nil {
		return Swap{}, fmt.Errorf("priority: %w", err)
	}
	return s, nil
}

// nodePath is the path of a swap area's device node. The kernel writes the path in the mount
// namespace where swap was turned on. Once that namespace has ended, the path of a loop device
// begins at the root of devtmpfs: /loop0.
func nodePath(path, kind string) string {
	if name, ok := strings.CutPrefix(path, "/"); ok && kind == "partition" {
		if n, err := loopNumber(name); err == nil {
			return devPath(n)
		}
	}
	return path
}

// parseKiB returns as bytes a number of KiB; 54 bits are all that fit.
func parseKiB(s string) (uint64, error) {
	v, err := strconv.ParseUint(s, 10, 54)
	return v * 1024, err
}

// unescape turns the kernel's \ooo (three octal digits, mangle_path in fs/seq_file.c) into the
// bytes they stand for. Anything else stays as it is.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b = append(b, byte(v))
				i += 3
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}
