// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"encoding/binary"
	"strings"
	"time"
	"unicode/utf8"
)

// A Kind says what has happened.
type Kind uint8

// The kinds of events. Their numbers are part of the layout: new ones come last.
const (
	Started       Kind = iota // the device can be opened
	WorkerDied                // the process that served has ended without an order
	Recovered                 // another process serves after one has died
	Upgraded                  // another process serves after an upgrade
	UpgradeFailed             // an upgrade was refused or failed: the old program goes on
	Limit                     // 80, 90 or 100 per cent of the memory limit are in use
	Damaged                   // a stored page failed its checksum
	Failed                    // requests end in errors: the first one in a while
	Unprotected               // a protection is missing
	Warning                   // another line of the worker's log

	// Kinds is the number of kinds.
	Kinds
)

// maxKinds bounds the kinds that the layout has room for.
const maxKinds = 64

// String returns the name of a kind, as JSON has it.
func (k Kind) String() string {
	if k < Kinds {
		return [...]string{"started", "worker_died", "recovered", "upgraded", "upgrade_failed", "memory_limit", "damaged_page",
			"request_failed", "unprotected", "warning"}[k]
	}
	return "unknown"
}

// An event's entry is 32 words: a checksum, which is 0 while the entry is written; the time in
// nanoseconds of Unix time; the kind, the length of the text and the process; and the text.
const (
	eventSize  = 256
	eventWords = eventSize / 8
	textAt     = 3
	maxText    = (eventWords - textAt) * 8
	maxEvents  = (slotsAt - ringAt) / eventSize
)

// An Event is what happened at a time. Number counts the device's events from 0.
type Event struct {
	Number uint64
	Time   time.Time
	Kind   Kind
	PID    int // of the process that noted it, in its PID namespace
	Text   string
}

// NoteEvent leaves an event; a text longer than 232 bytes is cut. The keeper and the worker may
// call it at the same time, from any goroutine.
func (a *Area) NoteEvent(now time.Time, kind Kind, pid int, text string) {
	if len(text) > maxText {
		end := maxText - len("…")
		for back := 1; back < utf8.UTFMax && !utf8.RuneStart(text[end]); back++ {
			end--
		}
		text = text[:end] + "…"
	}
	a.words(kindsAt, maxKinds)[kind].Add(1)
	number := a.words(eventsAt, 1)[0].Add(1) - 1
	entry := a.words(ringAt+int(number%maxEvents)*eventSize, eventWords)
	words := [eventWords]uint64{0, uint64(now.UnixNano()), uint64(kind) | uint64(len(text))<<8 | uint64(uint32(pid))<<32}
	var padded [maxText]byte
	copy(padded[:], text)
	for i := textAt; i < eventWords; i++ {
		words[i] = binary.LittleEndian.Uint64(padded[(i-textAt)*8:])
	}
	entry[0].Store(0)
	for i := 1; i < eventWords; i++ {
		entry[i].Store(words[i])
	}
	entry[0].Store(checksum(number, words[1:]...))
}

// Events returns the events from number from on that the memory still has, the oldest first, and
// the number to go on with. An event that a process is still writing is left to the next call,
// unless that process has died.
func (a *Area) Events(from uint64) (all []Event, next uint64) {
	next = a.words(eventsAt, 1)[0].Load()
	from = max(from, next-min(next, maxEvents))
	for number := from; number < next; number++ {
		e, ok := a.event(number)
		if !ok && number+1 == next { // its writer may be at it
			return all, number
		}
		if ok {
			all = append(all, e)
		}
	}
	return all, next
}

func (a *Area) event(number uint64) (Event, bool) {
	entry := a.words(ringAt+int(number%maxEvents)*eventSize, eventWords)
	var words [eventWords]uint64
	for i := range words {
		words[i] = entry[i].Load()
	}
	if words[0] != checksum(number, words[1:]...) {
		return Event{}, false
	}
	var text [maxText]byte
	for i := textAt; i < eventWords; i++ {
		binary.LittleEndian.PutUint64(text[(i-textAt)*8:], words[i])
	}
	length := min(int(words[2]>>8&0xffff), maxText)
	return Event{
		Number: number, Time: time.Unix(0, int64(words[1])), Kind: Kind(words[2]), PID: int(uint32(words[2] >> 32)),
		Text: strings.ToValidUTF8(string(text[:length]), "?"),
	}, true
}

// EventsTotal returns how many events of each kind there were since the device was made, by name.
// Kinds without an event are left out.
func (a *Area) EventsTotal() map[string]uint64 {
	all := map[string]uint64{}
	counts := a.words(kindsAt, int(Kinds))
	for kind := range Kinds {
		if n := counts[kind].Load(); n > 0 {
			all[kind.String()] = n
		}
	}
	return all
}
