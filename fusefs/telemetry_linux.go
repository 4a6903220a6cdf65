// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/telemetry"
)

// Counters is a mapping of the memory in which a device's processes count, see package telemetry.
type Counters struct {
	Area *telemetry.Area // until Close
	// Private says that the counts end with this process: the session's are damaged.
	Private bool
	mem     []byte
}

// Counters maps the counters of the session. If it cannot, the counters are private, and err says
// why. The process that serves calls it.
func (f Files) Counters() (c *Counters, err error) {
	at, size, err := f.countersAt()
	if err == nil {
		c, err = mapCounters(f.Requests, at, size)
	}
	if err == nil {
		return c, nil
	}
	private, perr := privateCounters(maxSlots / 2)
	return private, errors.Join(err, perr)
}

// countersAt returns where the counters are in the memory of requests.
func (f Files) countersAt() (at int64, size int, err error) {
	mem, err := mapRequests(f.Requests)
	if err != nil {
		return 0, 0, err
	}
	r := requests{mem}
	defer func() { err = errors.Join(err, r.unmap()) }()
	if _, err := r.shape(); err != nil {
		return 0, 0, err
	}
	at = int64(r.word(wordTelemetry).Load())
	if at%pageSize != 0 || at > int64(len(mem)) {
		return 0, 0, errRequests
	}
	return at, len(mem) - int(at), nil
}

func mapCounters(f *os.File, at int64, size int) (*Counters, error) {
	mem, err := unix.Mmap(int(f.Fd()), at, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map counters: %w", err)
	}
	err = present(mem)
	if err == nil {
		var area *telemetry.Area
		if area, err = telemetry.Open(mem); err == nil {
			return &Counters{Area: area, mem: mem}, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("take the memory of counters: %w", err), unix.Munmap(mem))
}

// privateCounters makes counters that end with the process.
func privateCounters(slots int) (*Counters, error) {
	mem, err := unix.Mmap(-1, 0, telemetry.Size(slots), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("make counters: %w", err)
	}
	area, err := telemetry.Format(mem, slots)
	if err = errors.Join(err, present(mem)); err != nil {
		return nil, errors.Join(fmt.Errorf("make counters: %w", err), unix.Munmap(mem))
	}
	return &Counters{Area: area, Private: true, mem: mem}, nil
}

// Close unmaps the counters. No server may use them.
func (c *Counters) Close() error { return unix.Munmap(c.mem) }

// Counters returns the file with the session's counters, and where they begin in it.
func (s *Session) Counters() (f *os.File, at int64) {
	s.view.RLock()
	defer s.view.RUnlock()
	if s.requests.mem == nil {
		return s.files.Requests, 0
	}
	return s.files.Requests, int64(s.requests.word(wordTelemetry).Load())
}

// NoteEvent leaves an event in the session's counters, until Close.
func (s *Session) NoteEvent(kind telemetry.Kind, text string) {
	s.view.RLock()
	defer s.view.RUnlock()
	if s.requests.mem == nil {
		return
	}
	at := s.requests.word(wordTelemetry).Load()
	if at%pageSize != 0 || at > uint64(len(s.requests.mem)) { // damaged
		return
	}
	if a, err := telemetry.Open(s.requests.mem[at:]); err == nil {
		a.NoteEvent(time.Now(), kind, os.Getpid(), text)
	}
}
