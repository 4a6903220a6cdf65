// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/zramfs/zramfs/codec"
)

// A store counts on from where another with the same memory for totals has ended, also where that
// one had more workers; one with memory of its own begins anew.
func TestTotalsGoOn(t *testing.T) {
	totals := make([]atomic.Uint64, TotalsRows*TotalsRow)
	mem, err := NewMemory(MemoryAuto)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Disksize: 16 << 20, Algorithm: algorithm(t, "raw"), Totals: totals, Workers: 8}
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	page, got, rng := make([]byte, PageSize), make([]byte, PageSize), rand.New(rand.NewPCG(1, 1))
	for round := range uint64(3) {
		for n := range uint64(100) {
			workers := []*Worker{s.Acquire(), s.Acquire(), s.Acquire(), s.Acquire()} // each counts
			for i := range page {
				page[i] = byte(rng.Uint32())
			}
			for _, w := range workers[1:] {
				if err := w.Read(n, 0, got); err != nil {
					t.Fatal(err)
				}
			}
			if err := workers[0].Write(n, 0, page); err != nil {
				t.Fatal(err)
			}
			for _, w := range workers {
				w.Release()
			}
		}
		w := s.Acquire()
		w.Discard(0, 100)
		w.Release()
		got := s.Stats()
		if n := 100 * (round + 1); got.Reads != 3*n || got.Writes != n || got.NotifyFree != n || got.HugePagesSince != n {
			t.Errorf("round %d: reads %d, writes %d, discards %d, huge pages %d, want %d and thrice %d",
				round, got.Reads, got.Writes, got.NotifyFree, got.HugePagesSince, 3*n, n)
		}
		most := got.MemUsedMax
		finish(t, s)
		cfg.Workers = 4
		if s, err = Open(mem, cfg); err != nil {
			t.Fatal(err)
		}
		if got := s.Stats().MemUsedMax; got < most {
			t.Errorf("round %d: at most %d bytes were in use, before %d", round, got, most)
		}
	}
	finish(t, s)
	cfg.Totals = nil
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats(); got.Reads+got.Writes+got.NotifyFree != 0 {
		t.Errorf("with memory of its own it begins with %+v", got)
	}
	finish(t, s)
	if err := mem.Close(); err != nil {
		t.Error(err)
	}
}

// The counts of workers that only the process before had are added up where they are: a process
// that is killed while it opens the store loses nothing.
func TestTotalsAreNotMoved(t *testing.T) {
	totals := make([]atomic.Uint64, TotalsRows*TotalsRow)
	mem := newMemory(t)
	cfg := Config{Disksize: 16 << 20, Algorithm: algorithm(t, "raw"), Totals: totals, Workers: 8}
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*Worker, 8)
	for i := range all {
		all[i] = s.Acquire()
	}
	for i, w := range all {
		if err := w.Write(uint64(i), 0, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		w.Release()
	}
	finish(t, s)
	cfg.Workers = 4
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	for row := range 8 {
		if got := totals[row*TotalsRow+totalWrites].Load(); got != 1 {
			t.Errorf("row %d has %d writes, want 1", row, got)
		}
	}
	if got := s.Stats().Writes; got != 8 {
		t.Errorf("%d writes, want 8", got)
	}
	finish(t, s)
}

// Refaults and recompressed pages go on with the next store. The totals begin anew with another
// image, but not with one that cannot be made.
func TestRefaultsGoOn(t *testing.T) {
	totals := make([]atomic.Uint64, TotalsRows*TotalsRow)
	cfg := Config{Disksize: 16 << 20, Algorithm: algorithm(t, "lz4"), Totals: totals}
	mem := newMemory(t)
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	page, rng := make([]byte, PageSize), rand.New(rand.NewPCG(1, 2))
	for i := range page {
		page[i] = 'a' + byte(rng.Uint32N(16))
	}
	w := s.Acquire()
	for n := range uint64(100) {
		if err := w.Write(n, 0, page); err != nil {
			t.Fatal(err)
		}
		if err := w.Read(n, 0, page); err != nil {
			t.Fatal(err)
		}
	}
	w.Release()
	if _, err := s.Recompress(t.Context(), RecompressConfig{Algorithm: algorithm(t, "zstd")}); err != nil {
		t.Fatal(err)
	}
	before := s.Stats()
	if sum := before.Ages.Refaults[0] + before.Ages.Refaults[1]; sum != 100 || before.RecompressedSince != 100 {
		t.Errorf("%d refaults and %d pages recompressed, want 100", sum, before.RecompressedSince)
	}
	finish(t, s)
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	after := s.Stats()
	if after.Ages.Refaults != before.Ages.Refaults || after.RecompressedSince != before.RecompressedSince {
		t.Errorf("the next store begins with refaults %v and %d pages recompressed", after.Ages.Refaults, after.RecompressedSince)
	}
	finish(t, s)
	cfg.MemLimit = PageSize
	if _, err = Create(newMemory(t), cfg); !errors.Is(err, ErrConfig) {
		t.Fatalf("with a limit of a page: %v", err)
	}
	cfg.MemLimit = 0
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats().Reads; got != before.Reads {
		t.Errorf("after an image that could not be made %d reads are counted, want %d", got, before.Reads)
	}
	finish(t, s)
	if s, err = Create(newMemory(t), cfg); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats(); got.Reads != 0 || got.RecompressedSince != 0 || got.Ages.Refaults != [AgeClasses]uint64{} {
		t.Errorf("another image begins with %+v", got)
	}
	finish(t, s)
}

// TestMet tells what the pages of a request are stored as.
func TestMet(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20, Algorithm: algorithm(t, "lz4")})
	packs, same, noise, rng := make([]byte, PageSize), make([]byte, PageSize), make([]byte, PageSize), rand.New(rand.NewPCG(1, 3))
	for i := range packs {
		packs[i], noise[i] = byte(i/64), byte(rng.Uint32())
	}
	met := func(f func(w *Worker)) Result {
		w := s.Acquire()
		defer w.Release()
		f(w)
		m := w.Result()
		m.some = false
		return m
	}
	put := func(page uint64, content []byte) func(*Worker) {
		return func(w *Worker) {
			if err := w.Write(page, 0, content); err != nil {
				t.Error(err)
			}
		}
	}
	get := func(pages ...uint64) func(*Worker) {
		return func(w *Worker) {
			for _, page := range pages {
				if err := w.Read(page, 0, make([]byte, PageSize)); err != nil {
					t.Error(err)
				}
			}
		}
	}
	packed := met(put(0, packs))
	if packed.Codec != codec.LZ4 || packed.Bytes == 0 || packed.Bytes >= PageSize {
		t.Errorf("a page that packs met %+v", packed)
	}
	for name, c := range map[string]struct{ got, want Result }{
		"same":      {met(put(1, same)), Result{Codec: MetSame}},
		"noise":     {met(put(2, noise)), Result{Codec: codec.Raw, Bytes: PageSize}},
		"read":      {met(get(0)), packed},
		"empty":     {met(get(9)), Result{Codec: MetNothing}},
		"none":      {met(func(*Worker) {}), Result{Codec: MetNothing}},
		"different": {met(get(0, 2)), Result{Codec: MetMixed, Bytes: packed.Bytes + PageSize}},
		"discarded": {met(func(w *Worker) { w.Discard(0, 3) }), Result{Codec: MetNothing}},
	} {
		if c.got != c.want {
			t.Errorf("%s: met %+v, want %+v", name, c.got, c.want)
		}
	}
}
