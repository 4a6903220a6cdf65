// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

var testTime = time.Unix(1_800_000_000, 123)

func traceRequest(i int) *Request {
	return &Request{
		Op: Op(i % int(Ops)), Began: testTime.Add(time.Duration(i)), Took: time.Duration(i), Page: uint64(i) * 3, Pages: i%64 + 1,
		Errno: 0, Stored: Stored{Codec: uint8(i % 7), Bytes: uint32(i % 5000)},
	}
}

func wantTrace(slot, i int) Trace {
	r := traceRequest(i)
	return Trace{Slot: slot, Began: r.Began, Took: r.Took, Op: r.Op, Page: r.Page, Pages: r.Pages, Errno: r.Errno, Stored: r.Stored}
}

// TestTraceHasTheLastRequests also across a reader that comes late.
func TestTraceHasTheLastRequests(t *testing.T) {
	a := areaOf(t, 2)
	total := a.entries + 100
	for i := range total {
		a.Slot(i % 2).Note(traceRequest(i))
	}
	var c Cursor
	all, lost := a.Traces(&c)
	if len(all) != total || lost != 0 {
		t.Fatalf("%d entries and %d lost, want %d and 0", len(all), lost, total)
	}
	for i, got := range all {
		if want := wantTrace(i%2, i); got != want {
			t.Fatalf("entry %d is %+v, want %+v", i, got, want)
		}
	}
	for i := range 3 * a.entries {
		a.Slot(0).Note(traceRequest(i))
	}
	if all, lost = a.Traces(&c); len(all) != a.entries || lost != uint64(2*a.entries) {
		t.Errorf("%d entries and %d lost, want %d and %d", len(all), lost, a.entries, 2*a.entries)
	}
	if all, lost = a.Traces(&c); len(all)+int(lost) != 0 {
		t.Errorf("%d entries and %d lost, want none", len(all), lost)
	}
}

// TestTraceCountsWhatIsLost also on a slot that had no entry when the reader began, and where an
// entry is overwritten while it is read.
func TestTraceCountsWhatIsLost(t *testing.T) {
	a := areaOf(t, 2)
	var c Cursor
	if all, lost := a.Traces(&c); len(all)+int(lost) != 0 {
		t.Errorf("%d entries and %d lost, want none", len(all), lost)
	}
	for i := range a.entries + 10 {
		a.Slot(1).Note(traceRequest(i))
	}
	a.Slot(1).trace[15*entryWords] ^= 1
	if all, lost := a.Traces(&c); len(all) != a.entries-1 || lost != 11 {
		t.Errorf("%d entries and %d lost, want %d and 11", len(all), lost, a.entries-1)
	}
}

// TestTraceCutsWhatHasNoRoom: a large value does not become another field's.
func TestTraceCutsWhatHasNoRoom(t *testing.T) {
	a := areaOf(t, 1)
	a.Slot(0).Note(&Request{Op: Discard, Began: testTime, Took: 1 << 50, Page: 1 << 60, Pages: 1 << 30, Errno: 4095, Stored: Stored{Mixed, 1 << 30}})
	all, _ := a.Traces(&Cursor{})
	want := Trace{Began: testTime, Took: 1<<40 - 1, Op: Discard, Page: 1<<40 - 1, Pages: 1<<24 - 1, Errno: 255, Stored: Stored{Mixed, 1<<24 - 1}}
	if len(all) != 1 || all[0] != want {
		t.Errorf("entries %+v, want %+v", all, want)
	}
}

// TestTraceLeavesTornEntriesOut damages each word of an entry.
func TestTraceLeavesTornEntriesOut(t *testing.T) {
	for word := range entryWords {
		a := areaOf(t, 1)
		a.Slot(0).Note(traceRequest(1))
		a.Slot(0).trace[word] ^= 1 << 30
		if all, _ := a.Traces(&Cursor{}); len(all) != 0 {
			t.Errorf("with a damaged word %d the entry is %+v", word, all)
		}
	}
}

// TestEvents are in order, keep their text, and the oldest make way.
func TestEvents(t *testing.T) {
	a := areaOf(t, 1)
	a.NoteEvent(testTime, WorkerDied, 77, "killed by signal 9")
	long := strings.Repeat("é", maxText)
	a.NoteEvent(testTime.Add(1), Limit, 78, long)
	got, next := a.Events(0)
	if len(got) != 2 || next != 2 {
		t.Fatalf("events %+v, next %d", got, next)
	}
	want := Event{Number: 0, Time: testTime, Kind: WorkerDied, PID: 77, Text: "killed by signal 9"}
	if !reflect.DeepEqual(got[0], want) {
		t.Errorf("event %+v, want %+v", got[0], want)
	}
	if text := got[1].Text; !utf8.ValidString(text) || len(text) > maxText || !strings.HasSuffix(text, "é…") {
		t.Errorf("a long text became %q", text)
	}
	for range 3 * maxEvents {
		a.NoteEvent(testTime, Warning, 1, "x")
	}
	if got, next = a.Events(next); len(got) != maxEvents || got[0].Number != 2+2*maxEvents || next != 2+3*maxEvents {
		t.Errorf("%d events from %d, next %d", len(got), got[0].Number, next)
	}
	totals := map[string]uint64{"worker_died": 1, "memory_limit": 1, "warning": 3 * maxEvents}
	if got := a.EventsTotal(); !reflect.DeepEqual(got, totals) {
		t.Errorf("totals %v, want %v", got, totals)
	}
}

// TestEventsBySeveral: what two processes note at the same time is whole. The race detector sees
// this memory.
func TestEventsBySeveral(t *testing.T) {
	a := areaOf(t, 1)
	const each = 500
	var writers sync.WaitGroup
	for writer := range 2 {
		writers.Go(func() {
			for range each {
				a.NoteEvent(testTime, Warning, writer, strings.Repeat(string(rune('a'+writer)), 100))
			}
		})
	}
	ended := make(chan struct{})
	go func() { writers.Wait(); close(ended) }()
	seen, next := 0, uint64(0)
	for over := false; !over || seen == 0; {
		select {
		case <-ended:
			over = true
		default:
		}
		var all []Event
		all, next = a.Events(next)
		for _, e := range all {
			seen++
			if e.Text != strings.Repeat(string(rune('a'+e.PID)), 100) {
				t.Fatalf("event %+v", e)
			}
		}
	}
	if next != 2*each || a.EventsTotal()["warning"] != 2*each {
		t.Errorf("the next number is %d, the total %v, want %d", next, a.EventsTotal(), 2*each)
	}
}

// TestKindsHaveNames of their own.
func TestKindsHaveNames(t *testing.T) {
	names := map[string]bool{}
	for k := range Kinds {
		names[k.String()] = true
	}
	if len(names) != int(Kinds) || names["unknown"] || names[""] {
		t.Errorf("%d names for %d kinds: %v", len(names), Kinds, names)
	}
}

// A text that is too long loses its end alone, also where a file's name in it is no UTF-8.
func TestLongEventOfAnyBytes(t *testing.T) {
	a := areaOf(t, 1)
	name := "open /srv/caf\xe9/data: "
	a.NoteEvent(testTime, Warning, 1, name+strings.Repeat("x", maxText))
	got, _ := a.Events(0)
	if len(got) != 1 || !strings.HasPrefix(got[0].Text, "open /srv/caf?/data: xxx") || len(got[0].Text) != maxText {
		t.Errorf("%+v", got)
	}
}
