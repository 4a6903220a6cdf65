// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"zramfs/internal/pages/pagefile"
)

// Bits of an entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst).
// A page is taken when it is present and exclusively mapped; the kernel's zero
// page is present but nobody's own, and so are pages shared with a parent.
const (
	entryExclusive = 1 << 56
	entryFile      = 1 << 61
	entrySwapped   = 1 << 62
	entryPresent   = 1 << 63
	entryBits      = entryExclusive | entryFile | entrySwapped | entryPresent
	entryTaken     = entryExclusive | entryPresent
	entrySize      = 8
)

// A place is where one page lies.
type place struct {
	pid     int
	address int64
}

// A span is a range of addresses.
type span struct{ first, end int64 }

// copyPages returns a copy of at most maxPages resident anonymous pages of the
// stopped group, evenly spread over all that it has.
func (g group) copyPages(maxPages int) ([]byte, error) {
	pids, _, err := g.processes()
	if err != nil {
		return nil, err
	}
	var places []place
	for _, pid := range pids {
		found, err := resident(pid)
		if err != nil {
			return nil, fmt.Errorf("look through process %d: %w", pid, explain(err))
		}
		places = append(places, found...)
	}
	if len(places) == 0 {
		return nil, errors.New("no resident anonymous pages")
	}
	return copyPlaces(places, min(len(places), maxPages))
}

// copyPlaces copies count of the pages at places, evenly spread.
func copyPlaces(places []place, count int) ([]byte, error) {
	memory := make([]byte, count*pagefile.PageSize)
	files := map[int]*os.File{}
	defer func() {
		for _, file := range files {
			file.Close()
		}
	}()
	for i := range count {
		from := places[i*len(places)/count]
		if files[from.pid] == nil {
			file, err := os.Open(fmt.Sprintf("/proc/%d/mem", from.pid))
			if err != nil {
				return nil, fmt.Errorf("read memory: %w", explain(err))
			}
			files[from.pid] = file
		}
		page := memory[i*pagefile.PageSize : (i+1)*pagefile.PageSize]
		if _, err := files[from.pid].ReadAt(page, from.address); err != nil {
			return nil, fmt.Errorf("read memory of process %d at %#x: %w", from.pid, from.address, err)
		}
	}
	return memory, nil
}

// explain adds to a refusal the setting that usually causes it.
func explain(err error) error {
	scope, readErr := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	refused := errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
	if !refused || readErr != nil {
		return err
	}
	return fmt.Errorf("%w (kernel.yama.ptrace_scope is %s; 1 or 0 allows it)", err, bytes.TrimSpace(scope))
}

// resident returns the places of a process's resident anonymous pages.
func resident(pid int) ([]place, error) {
	smaps, err := readProc(pid, "smaps")
	if err != nil {
		return nil, err
	}
	spans, err := anonymousSpans(smaps)
	if err != nil {
		return nil, err
	}
	pagemap, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	if err != nil {
		return nil, err
	}
	defer pagemap.Close()
	var places []place
	for _, span := range spans {
		addresses, err := taken(pagemap, span)
		if err != nil {
			return nil, err
		}
		for _, address := range addresses {
			places = append(places, place{pid, address})
		}
	}
	return places, nil
}

// anonymousSpans returns the private, readable mappings in which smaps counts
// anonymous pages. Looking at their count first matters: a Java or Node.js process
// reserves far more address space than could be searched page by page.
func anonymousSpans(smaps []byte) ([]span, error) {
	var spans []span
	var mapping [][]byte // the fields of the line that began the current mapping
	for line := range bytes.Lines(smaps) {
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if !bytes.HasSuffix(fields[0], []byte(":")) {
			mapping = fields
			continue
		}
		count, ok := bytes.CutPrefix(line, []byte("Anonymous:"))
		if !ok || kilobytes(count) == 0 {
			continue
		}
		span, private, err := parseMapping(mapping)
		if err != nil {
			return nil, err
		}
		if private {
			spans = append(spans, span)
		}
	}
	return spans, nil
}

// parseMapping reads the first two fields of a mapping's line, its addresses and
// permissions, as in "7f0000000000-7f0000021000 rw-p".
func parseMapping(fields [][]byte) (mapped span, private bool, err error) {
	if len(fields) < 2 || len(fields[1]) != 4 {
		return span{}, false, fmt.Errorf("read smaps: unexpected line %q", fields)
	}
	first, end, _ := bytes.Cut(fields[0], []byte("-"))
	var endErr error
	mapped.first, err = strconv.ParseInt(string(first), 16, 64)
	mapped.end, endErr = strconv.ParseInt(string(end), 16, 64)
	if err := errors.Join(err, endErr); err != nil {
		return span{}, false, fmt.Errorf("read smaps: %w", err)
	}
	return mapped, fields[1][0] == 'r' && fields[1][3] == 'p', nil
}

// taken returns the addresses in a span whose page is resident, anonymous and the
// process's own.
func taken(pagemap *os.File, span span) ([]int64, error) {
	const batch = 64 << 10
	var addresses []int64
	entries := make([]byte, batch)
	for address := span.first; address < span.end; {
		want := min(batch, (span.end-address)/pagefile.PageSize*entrySize)
		n, err := pagemap.ReadAt(entries[:want], address/pagefile.PageSize*entrySize)
		if n < entrySize {
			return nil, fmt.Errorf("read pagemap at %#x: %w", address, err)
		}
		for at := 0; at+entrySize <= n; at += entrySize {
			if binary.NativeEndian.Uint64(entries[at:])&entryBits == entryTaken {
				addresses = append(addresses, address)
			}
			address += pagefile.PageSize
		}
	}
	return addresses, nil
}
