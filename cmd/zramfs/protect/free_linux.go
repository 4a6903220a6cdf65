// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

const (
	// pieceBytes is what one take needs at the most, a segment of the store with page tables.
	pieceBytes = 256<<10 + 16<<10
	// patience bounds the wait for free memory. Writes wait for two takes, a second at the most.
	patience = 400 * time.Millisecond
	// freePause is the pause between two looks.
	freePause = time.Millisecond
	// plentyShare is the part of the machine's memory that is plenty where it is free.
	plentyShare = 16
)

// Firmly returns [InRealTime], made to wait until the kernel has what take needs, and to fail with
// denied and ENOMEM where it does not get it. It serves as store.Config.Firmly; one call at a time.
//
// A thread that asks for more than there is reclaims memory itself. An IO_FLUSHER may not write to
// swap for that, so it looks for clean pages again and again; and in the
// real-time class it keeps the only processor from the threads that would make some. So the wait is
// in the usual class and asleep, and its end an error, which fails a write and loses nothing.
func Firmly(denied error) func(take func() error) error {
	zones, err := os.Open(host.Local.Path("proc/zoneinfo"))
	if err != nil {
		return InRealTime // it cannot be known what is free
	}
	// Made once: the maintainer makes no garbage while writes wait for it.
	none := fmt.Errorf("%w: none was free for %s: %w", denied, patience, unix.ENOMEM)
	f := freeMemory{zones: zones, lines: bufio.NewReader(zones)}
	return func(take func() error) error {
		for until := time.Now().Add(patience); !f.has(pieceBytes); time.Sleep(freePause) {
			if time.Now().After(until) {
				return none
			}
		}
		return InRealTime(take)
	}
}

// freeMemory looks at how much the kernel gives to the real-time class without reclaim. It
// allocates nothing, and the file keeps the kernel's buffer. Not safe for concurrent use.
type freeMemory struct {
	zones *os.File // /proc/zoneinfo
	lines *bufio.Reader
}

// has reports whether the kernel would give want bytes, or nothing is known.
func (f *freeMemory) has(want uint64) bool {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil && info.Freeram > info.Totalram/plentyShare && info.Freeram*uint64(info.Unit) > want {
		return true
	}
	if _, err := f.zones.Seek(0, io.SeekStart); err != nil {
		return true
	}
	f.lines.Reset(f.zones)
	pages, err := givenPages(f.lines)
	return err != nil || pages*pageSize >= want
}

// givenPages reads from the text of /proc/zoneinfo how many pages the kernel gives to the real-time
// class for what lies anywhere: those that are free in each zone, less what it keeps there for
// requests that need this zone, and three quarters of the lowest watermark. Since Linux 6.4 half of
// it would do.
func givenPages(lines *bufio.Reader) (pages uint64, err error) {
	var free, least uint64
	for {
		line, err := lines.ReadSlice('\n')
		switch err {
		case nil:
		case io.EOF:
			return pages, nil
		default:
			return 0, err
		}
		line = bytes.TrimSpace(line)
		if text, ok := bytes.CutPrefix(line, []byte("pages free ")); ok {
			free = number(text)
		} else if text, ok := bytes.CutPrefix(line, []byte("min ")); ok {
			least = number(text)
		} else if text, ok := bytes.CutPrefix(line, []byte("protection: (")); ok {
			keeps := least - least/4 + number(text[bytes.LastIndexByte(text, ' ')+1:])
			pages += max(free, keeps) - keeps
		}
	}
}

// number reads the digits that a text begins with, after spaces.
func number(text []byte) (n uint64) {
	for _, c := range bytes.TrimLeft(text, " ") {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}
