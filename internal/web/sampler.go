// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/zramfs/zramfs/internal/chronicle"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/monitor"
)

const (
	// watched is the time between looks while a page is open, unwatched the time else.
	watched   = time.Second
	unwatched = 10 * time.Second
	// fresh is how old a look may be that answers a request.
	fresh = time.Second
)

// A Sampler looks at all devices and remembers.
type Sampler struct {
	build     monitor.Build
	chronicle *chronicle.Chronicle
	logf      func(format string, args ...any)
	take      func(names ...string) ([]monitor.Sample, error) // monitor.Take but for tests
	read      readFunc                                        // readEvents but for tests

	looking sync.Mutex // held during a look
	mu      sync.Mutex
	last    *look
	history *monitor.History // used while looking is held
	journal journal
	readers []chan []byte // the oldest first
	wake    chan struct{} // has room for one
}

// A look is what one look has found. It is immutable.
type look struct {
	at      time.Time
	err     error
	figures monitor.Look
	views   []view
	text    []byte // the views as JSON
}

// NewSampler returns a sampler that adds to a chronicle.
func NewSampler(c *chronicle.Chronicle, b monitor.Build, logf func(format string, args ...any)) *Sampler {
	return &Sampler{build: b, chronicle: c, logf: logf, take: monitor.Take, read: readEvents, history: monitor.NewHistory(120),
		wake: make(chan struct{}, 1)}
}

// Run looks until ctx ends.
func (s *Sampler) Run(ctx context.Context) {
	age := time.Duration(0)
	for {
		start := time.Now()
		s.send(s.look(age))
		age = 0
		wait := unwatched
		if s.watchers() > 0 {
			wait = watched
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
			age = fresh // a page that is opened again and again makes no more looks
		case <-time.After(time.Until(start.Add(wait))):
		}
	}
}

// look returns the last look, or a new one where that is older than age.
func (s *Sampler) look(age time.Duration) *look {
	s.looking.Lock()
	defer s.looking.Unlock()
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last != nil && age > 0 && time.Since(last.at) < age {
		return last
	}
	start := time.Now()
	samples, err := s.take()
	l := &look{at: time.Now(), err: err, views: []view{}} // the page wants a list
	l.figures = monitor.Look{Time: l.at, Took: time.Since(start)}
	if len(samples) == 0 {
		l.figures.Pressure, l.figures.PressureKnown = host.Local.Pressure()
	}
	var points []monitor.Point
	if err == nil { // else the rates go on once a look succeeds
		points = s.history.Add(samples)
	}
	names := namesOf(samples)
	for i, sample := range samples {
		l.figures.Devices = append(l.figures.Devices, sample.Device)
		l.figures.Pressure, l.figures.PressureKnown = sample.Pressure.Some, sample.PressureKnown
		v := newView(names[i], sample, points[i])
		s.chronicle.Add(v.Name, v.row)
		l.views = append(l.views, v)
	}
	known := s.journal.take(samples, s.read)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal.compare(l, known)
	s.last = l
	l.text = s.encode(l)
	return l
}

// A message is what the page gets with each look.
type message struct {
	Time    int64         `json:"time"` // in milliseconds since 1970
	Error   string        `json:"error,omitempty"`
	Build   monitor.Build `json:"build"`
	Devices []view        `json:"devices"`
	Events  []event       `json:"events"` // the newest first
}

func (s *Sampler) encode(l *look) []byte {
	m := message{Time: l.at.UnixMilli(), Build: s.build, Devices: l.views, Events: s.journal.newest()}
	if l.err != nil {
		m.Error = l.err.Error()
	}
	text, err := json.Marshal(m)
	if err != nil { // a value that JSON has not: a defect
		s.logf("encode a look: %v", err)
		return []byte("{}")
	}
	return text
}

// subscribe returns a channel that gets each look; a slow reader misses some. unsubscribe ends it.
// Where maxReaders have one, that of the oldest is closed.
func (s *Sampler) subscribe() chan []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.readers) >= maxReaders {
		close(s.readers[0])
		s.readers = slices.Delete(s.readers, 0, 1)
	}
	c := make(chan []byte, 1)
	s.readers = append(s.readers, c)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return c
}

func (s *Sampler) unsubscribe(c chan []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers = slices.DeleteFunc(s.readers, func(other chan []byte) bool { return other == c })
}

func (s *Sampler) watchers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.readers)
}

// send gives a look to all readers. One that has not taken the last gets this one in its place.
func (s *Sampler) send(l *look) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.readers {
		select {
		case <-c:
		default:
		}
		c <- l.text // the only sender, so there is room
	}
}
