// SPDX-License-Identifier: Apache-2.0

package procpages

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// A mapping is a range of addresses that a process has mapped. Immutable.
type mapping struct {
	first, end int64
	usable     bool  // private and readable
	locked     bool  // never swapped
	anonymous  int64 // bytes that smaps counts in it
}

// readMappings returns the mappings with usable pages in the text of /proc/PID/smaps. Their counts
// matter: a Java or Node.js process reserves far more address space than could be searched page by
// page. The text is read line by line, since it is 60 MiB for a process with the largest number of
// mappings.
func readMappings(smaps io.Reader) ([]mapping, error) {
	var found []mapping
	var current mapping
	lines := bufio.NewScanner(smaps)
	lines.Buffer(make([]byte, 64<<10), 64<<10) // the longest path, every byte of it escaped, is 16 KiB
	for lines.Scan() {
		name, rest, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		if bytes.HasSuffix(name, []byte(":")) {
			current.take(string(name), rest)
			continue
		}
		found = appendWanted(found, current)
		var err error
		if current, err = parseMapping(lines.Bytes()); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read smaps: %w", err)
	}
	return appendWanted(found, current), nil
}

// take reads one of the lines that follow a mapping's first.
func (m *mapping) take(name string, value []byte) {
	switch name {
	case "Anonymous:":
		m.anonymous = kilobytes(value)
	case "Locked:":
		m.locked = m.locked || kilobytes(value) > 0
	case "VmFlags:":
		m.locked = m.locked || slices.ContainsFunc(bytes.Fields(value), func(f []byte) bool { return string(f) == "lo" })
	}
}

func appendWanted(found []mapping, m mapping) []mapping {
	if m.usable && !m.locked && m.anonymous > 0 {
		found = append(found, m)
	}
	return found
}

// eachMapping calls visit with each mapping in the text of /proc/PID/maps, which has the first
// lines of smaps alone, for which the kernel counts no pages.
func eachMapping(maps io.Reader, visit func(mapping)) error {
	lines := bufio.NewScanner(maps)
	lines.Buffer(make([]byte, 64<<10), 64<<10) // as in readMappings
	for lines.Scan() {
		m, err := parseMapping(lines.Bytes())
		if err != nil {
			return err
		}
		visit(m)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read maps: %w", err)
	}
	return nil
}

// parseMapping reads a mapping's first line, its addresses and permissions, as in
// "7f0000000000-7f0000021000 rw-p".
func parseMapping(line []byte) (mapping, error) {
	fields := bytes.Fields(line)
	if len(fields) < 2 || len(fields[1]) != 4 {
		return mapping{}, fmt.Errorf("read smaps: unexpected line %q", line)
	}
	first, end, _ := bytes.Cut(fields[0], []byte("-"))
	var m mapping
	var firstErr, endErr error
	m.first, firstErr = parseAddress(first)
	m.end, endErr = parseAddress(end)
	if err := errors.Join(firstErr, endErr); err != nil {
		return mapping{}, fmt.Errorf("read smaps: %w", err)
	}
	m.usable = fields[1][0] == 'r' && fields[1][3] == 'p'
	return m, nil
}

// parseAddress reads a hexadecimal address. Those of the kernel's half, as of [vsyscall], do not
// fit and are of no process; they become an empty range.
func parseAddress(text []byte) (int64, error) {
	address, err := strconv.ParseUint(string(text), 16, 64)
	if err != nil || address > 1<<63-1 {
		return 0, err
	}
	return int64(address), nil
}
