// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
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

// AllocHook returns [InRealTime], made to wait until the kernel has what take needs, and to fail
// with denied and ENOMEM where it does not get it. It serves as store.Config.Firmly; one call at a
// time.
//
// A thread that asks for more than there is reclaims memory itself. An IO_FLUSHER may not write to
// swap for that, so it looks for clean pages again and again; and in the
// real-time class it keeps the only processor from the threads that would make some. So the wait is
// in the usual class and asleep, and its end an error, which fails a write and loses nothing.
func AllocHook(denied error) func(take func() error) error {
	zones, err := openZones(host.Local)
	if err != nil {
		return InRealTime // it cannot be known what is free
	}
	// Made once: the maintainer makes no garbage while writes wait for it.
	none := fmt.Errorf("%w: none was free for %s: %w", denied, patience, unix.ENOMEM)
	return func(take func() error) error {
		for until := time.Now().Add(patience); !zones.has(pieceBytes); time.Sleep(freePause) {
			if time.Now().After(until) {
				return none
			}
		}
		return InRealTime(take)
	}
}

// has reports whether the kernel would give want bytes to the real-time class without reclaim, or
// nothing is known. It first takes back what the kernel has added to the watermarks.
func (z *zones) has(want uint64) bool {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil && info.Freeram > info.Totalram/plentyShare && info.Freeram*uint64(info.Unit) > want {
		return true
	}
	state, err := z.look()
	if err == nil && state.given*pageSize < want && state.raised && z.rewrite() == nil {
		state, err = z.look()
	}
	return err != nil || state.given*pageSize >= want
}

// A zoneState is what a look at all zones of memory finds.
type zoneState struct {
	// given is how many pages the kernel gives to the real-time class for what lies anywhere: those
	// that are free in each zone, less what it keeps there for requests that need this zone, and
	// three quarters of the lowest watermark. Since Linux 6.4 half of it would do.
	given uint64
	// raised means that less is free in a zone than its lowest watermark, which the kernel has
	// raised, or may have where it does not say (before Linux 5.18).
	raised bool
}

// readZones reads the text of /proc/zoneinfo.
func readZones(lines *bufio.Reader) (s zoneState, err error) {
	var free, least, boost uint64
	boosts := false // it has lines for boost
	for {
		line, err := lines.ReadSlice('\n')
		switch err {
		case nil:
		case io.EOF:
			return s, nil
		default:
			return zoneState{}, err
		}
		line = bytes.TrimSpace(line)
		if text, ok := bytes.CutPrefix(line, []byte("pages free ")); ok {
			free = number(text)
		} else if text, ok := bytes.CutPrefix(line, []byte("boost ")); ok {
			boost, boosts = number(text), true
		} else if text, ok := bytes.CutPrefix(line, []byte("min ")); ok {
			least = number(text) // with boost
			// The figure for what is free may be old by some pages.
			s.raised = s.raised || free < least+least/8 && (boost > 0 || !boosts)
		} else if text, ok := bytes.CutPrefix(line, []byte("protection: (")); ok {
			keeps := least - least/4 + number(text[bytes.LastIndexByte(text, ' ')+1:])
			s.given += max(free, keeps) - keeps
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
