// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
	"unsafe"
)

// memory returns zeros that begin on a page, as mapped memory does.
func memory(slots int) []byte {
	mem := make([]byte, Size(slots)+pageSize)
	skip := -uintptr(unsafe.Pointer(&mem[0])) & (pageSize - 1)
	return mem[skip : int(skip)+Size(slots)]
}

// areaOf returns an empty area.
func areaOf(tb testing.TB, slots int) *Area {
	tb.Helper()
	a, err := Format(memory(slots), slots)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// TestOpen: what Format has laid out is found again, and nothing else is taken for it.
func TestOpen(t *testing.T) {
	for _, slots := range []int{1, 4, 16, maxSlots} {
		mem := memory(slots)
		if Size(slots)%pageSize != 0 {
			t.Errorf("%d slots take %d bytes, no whole pages", slots, Size(slots))
		}
		a, err := Format(mem, slots)
		if err != nil {
			t.Fatal(err)
		}
		if a.entries*slots > maxEntries {
			t.Errorf("%d slots have %d entries each", slots, a.entries)
		}
		if b, err := Open(mem); err != nil || b.slots != slots || b.entries != a.entries {
			t.Errorf("%d slots: %+v, %v", slots, b, err)
		}
		if _, err := Open(mem[:len(mem)-1]); !errors.Is(err, ErrLayout) {
			t.Errorf("%d slots in less memory: %v", slots, err)
		}
		for word := range headerWords {
			kept := a.words(0, headerWords)[word].Swap(1 << 40)
			if _, err := Open(mem); !errors.Is(err, ErrLayout) {
				t.Errorf("%d slots with a damaged word %d: %v", slots, word, err)
			}
			a.words(0, headerWords)[word].Store(kept)
		}
	}
	if _, err := Open(nil); !errors.Is(err, ErrLayout) {
		t.Errorf("no memory: %v", err)
	}
	if Size(maxSlots) < endOfTraces(t) {
		t.Error("the parts overlap")
	}
	for _, slots := range []int{0, -1, maxSlots + 1} {
		if _, err := Format(memory(maxSlots), slots); !errors.Is(err, ErrLayout) {
			t.Errorf("%d slots: %v", slots, err)
		}
	}
}

// endOfTraces returns where the last trace of the largest area ends.
func endOfTraces(t *testing.T) int {
	t.Helper()
	a := areaOf(t, maxSlots)
	if slotWords*8 > slotSize {
		t.Errorf("the words of a slot take %d bytes of %d", slotWords*8, slotSize)
	}
	if TotalsRows*TotalsWords*8 > eventsAt-totalsAt || maxKinds*8 > ringAt-kindsAt || int(Kinds) > maxKinds {
		t.Error("the totals or the kinds have no room")
	}
	return a.marksAt() + marksLen
}

// TestOperationsEqualWhatWasDone counts requests in several slots, as a model does, across a
// change of the writers.
func TestOperationsEqualWhatWasDone(t *testing.T) {
	const slots = 3
	mem := memory(slots)
	if _, err := Format(mem, slots); err != nil {
		t.Fatal(err)
	}
	var want [Ops]Operation
	rng := rand.New(rand.NewPCG(5, 6))
	for range 4 { // workers, each of them opens the memory that the one before has left
		a, err := Open(mem)
		if err != nil {
			t.Fatal(err)
		}
		for range 500 {
			r := Request{Op: Op(rng.IntN(int(Ops))), Took: time.Duration(rng.Uint64N(1 << 24)), Pages: 1 + rng.IntN(70)}
			r.Bytes = uint64(r.Pages)*pageSize - rng.Uint64N(pageSize)
			if rng.IntN(10) == 0 {
				r.Errno = 5
			}
			a.Slot(rng.IntN(slots)).Note(&r)
			w := &want[r.Op]
			w.Requests, w.Pages, w.Bytes, w.Time = w.Requests+1, w.Pages+uint64(r.Pages), w.Bytes+r.Bytes, w.Time+r.Took
			w.Longest = max(w.Longest, r.Took)
			if r.Errno != 0 {
				w.Errors++
			}
		}
	}
	a, err := Open(mem)
	if err != nil {
		t.Fatal(err)
	}
	for op, got := range a.Operations() {
		var inBatches uint64
		for _, b := range got.Batches {
			inBatches += b.Requests
		}
		if inBatches != got.Requests || got.Latency.Count() != got.Requests {
			t.Errorf("%v: %d requests, %d in batches, %d in the histogram", got.Op, got.Requests, inBatches, got.Latency.Count())
		}
		got.Latency, got.Batches = nil, nil
		want[op].Op = Op(op)
		if !reflect.DeepEqual(got, want[op]) {
			t.Errorf("counted %+v, want %+v", got, want[op])
		}
	}
}

func TestBatchSizes(t *testing.T) {
	a := areaOf(t, 1)
	for pages, n := range map[int]int{0: 1, 1: 3, 2: 5, 3: 7, 4: 1, 64: 2, 65: 4, 5000: 6} {
		for range n {
			a.Slot(0).Note(&Request{Op: Discard, Pages: pages, Bytes: uint64(pages) * pageSize})
		}
	}
	want := []Batch{{1, 4}, {2, 5}, {4, 8}, {64, 2}, {128, 4}, {2048, 6}}
	if got := a.Operations()[Discard].Batches; !reflect.DeepEqual(got, want) {
		t.Errorf("batches %v, want %v", got, want)
	}
}

func TestStalls(t *testing.T) {
	a := areaOf(t, 2)
	a.Slot(0).Note(&Request{Op: Write, Pages: 1, Stall: time.Second})
	a.Slot(1).Note(&Request{Op: Write, Pages: 1, Stall: time.Second})
	a.Slot(1).Note(&Request{Op: Write, Pages: 1})
	if n, waited := a.Stalls(); n != 2 || waited != 2*time.Second {
		t.Errorf("%d requests waited %v, want 2 and 2s", n, waited)
	}
}

// TestNoteAllocatesNothing: it is on the page path.
func TestNoteAllocatesNothing(t *testing.T) {
	s := areaOf(t, 1).Slot(0)
	r := Request{Op: Read, Took: 20 * time.Microsecond, Pages: 1, Bytes: pageSize, Began: time.Now()}
	if n := testing.AllocsPerRun(1000, func() { s.Note(&r) }); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}

// BenchmarkNote is what counting adds to a request.
func BenchmarkNote(b *testing.B) {
	s := areaOf(b, 1).Slot(0)
	r := Request{Op: Read, Took: 20 * time.Microsecond, Pages: 1, Bytes: pageSize, Began: time.Now()}
	for b.Loop() {
		r.Page++
		s.Note(&r)
	}
}
