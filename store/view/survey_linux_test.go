// SPDX-License-Identifier: Apache-2.0

//go:build !race

package view

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// written is a view of a device whose pages a store wrote in random order.
func written(t *testing.T, disksize uint64) *View {
	t.Helper()
	a, err := codec.Parse("adaptive")
	if err != nil {
		t.Fatal(err)
	}
	mem, err := store.NewMemory(store.MemoryAuto)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Create(mem, store.Config{Disksize: disksize, Algorithm: a})
	if err != nil {
		t.Fatal(errors.Join(err, mem.Close()))
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), mem.Close()); err != nil {
			t.Error(err)
		}
	})
	worker, rng := s.Acquire(), rand.New(rand.NewPCG(3, 3))
	defer worker.Release()
	p := make([]byte, store.PageSize)
	for _, page := range rng.Perm(int(s.Pages())) {
		for i := range p[:200] {
			p[i] = byte(rng.Uint32())
		}
		binary.LittleEndian.PutUint32(p, uint32(page))
		if err := worker.Write(uint64(page), 0, p); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", mem.File().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	v, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// A survey that sorts some pages at a time meets every page once, and the objects of each part in
// the order in which they lie.
func TestSurveyInParts(t *testing.T) {
	v := written(t, 8<<20)
	for _, most := range []int{1000, 1024, 1 << 20} {
		w, s := NewWindow(make([]byte, ArenaSize(100)), 100), v.Survey(0, v.Pages())
		s.maxPages = min(s.maxPages, most)
		seen, last, parts := make([]bool, v.Pages()), uint64(0), 0
		for {
			begun := len(s.rest) == 0
			if err := s.Next(w); err != nil {
				t.Fatal(err)
			}
			if w.Pages == 0 {
				break
			}
			if begun {
				last, parts = 0, parts+1
			}
			if len(s.entries) > most {
				t.Fatalf("%d pages are sorted at a time, at most %d should be", len(s.entries), most)
			}
			for i, e := range w.entries {
				if e.Where() < last {
					t.Fatalf("an object at %d comes after one at %d", e.Where(), last)
				}
				if last = e.Where(); seen[w.Number(i)] {
					t.Fatalf("page %d comes twice", w.Number(i))
				}
				seen[w.Number(i)] = true
			}
			v.Fetch(w, w.Page)
			for i, kind := range w.Kind {
				if kind != PageObject {
					t.Fatalf("page %d is of kind %d", w.Number(i), kind)
				}
			}
		}
		for page, was := range seen {
			if !was {
				t.Errorf("page %d is left out", page)
			}
		}
		if want := (int(v.Pages()) + most - 1) / most; parts != want {
			t.Errorf("%d parts of %d pages, want %d", parts, most, want)
		}
	}
}
