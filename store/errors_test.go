// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// Errors are counted, with the times of the first and the last one, and a worker that carries on
// from the image of another continues the account.
func TestErrorsSurviveTheirWorker(t *testing.T) {
	mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: 64 << 20, MemLimit: 8 << 20})
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.ChecksumErrors != (ErrorCount{}) || st.FailedReads != (ErrorCount{}) || st.FailedWrites != (ErrorCount{}) {
		t.Errorf("a new store has errors: %+v", st)
	}
	begin := time.Now()
	failOnce(t, s)
	once := s.Stats()
	for what, c := range map[string]ErrorCount{"read": once.FailedReads, "write": once.FailedWrites, "checksum": once.ChecksumErrors} {
		if c.Count != 1 || !c.First.Equal(c.Last) || c.First.Before(begin) || c.Last.After(time.Now()) {
			t.Errorf("%s: %+v since %v, want one error", what, c, begin)
		}
	}
	s.die()
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	defer finish(t, s)
	if st := s.Stats(); st.FailedReads != once.FailedReads || st.FailedWrites != once.FailedWrites || st.ChecksumErrors != once.ChecksumErrors {
		t.Errorf("opened again: %+v, want %+v", st, once)
	}
	failOnce(t, s)
	twice := s.Stats()
	for what, c := range map[string][2]ErrorCount{"read": {once.FailedReads, twice.FailedReads},
		"write": {once.FailedWrites, twice.FailedWrites}, "checksum": {once.ChecksumErrors, twice.ChecksumErrors}} {
		if c[1].Count != 2 || c[1].First != c[0].First || !c[1].Last.After(c[0].Last) {
			t.Errorf("%s: %+v, then %+v: want one more, later", what, c[0], c[1])
		}
	}
}

// failOnce makes one read fail its checksum and one write find no room.
func failOnce(t *testing.T, s *Store) {
	t.Helper()
	fillUp(t, s)
	e := s.idx.load(0)
	s.image.Mem[s.image.ObjectAt(e.Where())+image.HeaderSize] ^= 1
	w := s.Acquire()
	if err := w.Read(0, 0, make([]byte, PageSize)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("%v, want ErrCorrupt", err)
	}
	w.Release()
	s.image.Mem[s.image.ObjectAt(e.Where())+image.HeaderSize] ^= 1
}
