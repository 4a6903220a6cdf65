// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/telemetry/latency"
)

// A minuteModel is a device whose requests are known: second by second, with marks when they are
// due.
type minuteModel struct {
	area *Area
	now  time.Duration
	due  time.Duration
	at   []time.Duration // of reads, each of 2 pages
	seen int             // marks made or moved
}

func (m *minuteModel) pass(seconds, perSecond int, took time.Duration) {
	for range seconds {
		m.now += time.Second
		for range perSecond {
			m.area.Slot(len(m.at) % 2).Note(&Request{Op: Read, Took: took, Pages: 2, Bytes: 2*pageSize - 512})
			m.at = append(m.at, m.now)
		}
		if m.now >= m.due {
			m.due = m.now + m.area.Mark(m.now)
			m.seen++
		}
	}
}

// check compares what is said of the last minute with the requests.
func (m *minuteModel) check(t *testing.T, when string, least, most time.Duration) Recent {
	t.Helper()
	r := m.area.Recent(m.now)
	want := uint64(0)
	for _, at := range m.at {
		if at > m.now-r.Over {
			want++
		}
	}
	if r.Over < least || r.Over > most || r.In.Pages != 2*want || r.In.Latency.Count() != want || r.Out.Pages != 0 {
		t.Errorf("%s: %d pages in and %d requests over %v, want %d and %d over %v to %v",
			when, r.In.Pages, r.In.Latency.Count(), r.Over, 2*want, want, least, most)
	}
	return r
}

// TestRecent is what a model of a device says at all times: while it is busy, after a pause, and
// after its worker was replaced.
func TestRecent(t *testing.T) {
	mem := memory(2)
	a, err := Format(mem, 2)
	if err != nil {
		t.Fatal(err)
	}
	m := &minuteModel{area: a, now: time.Hour, due: time.Hour}
	if r := a.Recent(m.now); r.Over != 0 || r.In.Pages != 0 {
		t.Errorf("without a mark it says %+v", r)
	}
	m.pass(1, 0, 0)
	for range 60 { // at first it is about less
		m.pass(1, 3, time.Millisecond)
		m.check(t, "at first", time.Second, time.Minute)
	}
	for range 200 {
		m.pass(1, 5, time.Millisecond)
		m.check(t, "busy", 54*time.Second, 66*time.Second)
	}
	if r := m.check(t, "before it gets fast", 54*time.Second, 66*time.Second); r.In.Latency.Quantile(0.5) < time.Millisecond*9/10 {
		t.Errorf("p50 is %v", r.In.Latency.Quantile(0.5))
	}
	m.pass(70, 5, 10*time.Microsecond)
	if r := m.check(t, "now fast", 54*time.Second, 66*time.Second); r.In.Latency.Quantile(0.99) > 20*time.Microsecond {
		t.Errorf("p99 is %v although no slow request is a minute old", r.In.Latency.Quantile(0.99))
	}
	before := m.seen
	m.pass(1200, 0, 0)
	if marks := m.seen - before; marks > 22 {
		t.Errorf("an idle device was looked at %d times in 20 minutes", marks)
	}
	if r := m.check(t, "idle", time.Minute, time.Minute); r.In.Pages != 0 {
		t.Errorf("an idle device has %d pages", r.In.Pages)
	}
	if m.area, err = Open(mem); err != nil { // another worker, which marks at once
		t.Fatal(err)
	}
	m.due = m.now
	for range 100 {
		m.pass(1, 1, time.Millisecond)
		m.check(t, "after a pause", 30*time.Second, 2*time.Minute)
	}
}

// TestMarkAllocatesNothing: it is in the process that serves.
func TestMarkAllocatesNothing(t *testing.T) {
	a := areaOf(t, 4)
	now := time.Hour
	if n := testing.AllocsPerRun(100, func() {
		a.Slot(0).Note(&Request{Op: Write, Pages: 1, Bytes: pageSize})
		now += MarkEvery
		a.Mark(now)
	}); n != 0 {
		t.Errorf("%v allocations a mark", n)
	}
	if r := a.Recent(now); r.Out.Latency.Count() == 0 || r.In.Latency.Count() != 0 || len(r.Out.Latency) > latency.Buckets {
		t.Errorf("%+v", r)
	}
}

// BenchmarkMark is what a busy device does every ten seconds.
func BenchmarkMark(b *testing.B) {
	a := areaOf(b, 16)
	for i := 0; b.Loop(); i++ {
		a.Slot(0).Note(&Request{Op: Write, Pages: 1, Bytes: pageSize})
		a.Mark(time.Duration(i))
	}
}
