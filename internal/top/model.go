// SPDX-License-Identifier: Apache-2.0

package top

import (
	"errors"
	"slices"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// keptPoints is the number of points of a device that are kept: more than a screen is wide.
const keptPoints = 600

// A look is what was seen at one time.
type look struct {
	samples   []monitor.Sample
	processes []host.Swapped
	err       error
}

// A view is what the screen shows of a device. It is plain data.
type view struct {
	now       time.Time
	device    swapdev.Device
	problems  []swapdev.Problem
	point     monitor.Point // the zero value where there is no device
	points    []monitor.Point
	processes []host.Swapped
	at, of    int   // the number of the device, from 1, of all
	err       error // of the last look
}

// A model is what was seen so far and what the keys have chosen. It is used by one goroutine.
type model struct {
	history *monitor.History
	last    look
	chosen  int // index of the device in the last look
	shown   view
	utf8    bool

	who, help, paused bool
}

func newModel(utf8 bool) *model { return &model{history: monitor.NewHistory(keptPoints), utf8: utf8} }

// add takes a look in. A failed one leaves the figures as they are, and adds the error.
func (m *model) add(l look) {
	if errors.Is(l.err, swapdev.ErrNotRunning) {
		l.samples, l.processes = nil, nil
	} else if l.err != nil {
		m.last.err = l.err
		m.show(time.Now())
		return
	}
	dir, n := m.choice()
	m.last = l
	m.history.Add(l.samples)
	m.choose(dir, n)
	m.show(time.Now())
}

// choice is the name of the chosen device, and how many of that name are before it.
func (m *model) choice() (dir string, n int) {
	if len(m.last.samples) == 0 {
		return "", 0
	}
	dir = m.last.samples[m.chosen].Device.Title()
	for _, s := range m.last.samples[:m.chosen] {
		if s.Device.Title() == dir {
			n++
		}
	}
	return dir, n
}

// choose chooses that device, wherever it is among the others now; once it is gone, the one in its
// place.
func (m *model) choose(dir string, n int) {
	for i, s := range m.last.samples {
		if s.Device.Title() != dir {
			continue
		}
		if n == 0 {
			m.chosen = i
			return
		}
		n--
	}
	m.chosen = min(m.chosen, max(len(m.last.samples)-1, 0))
}

// show chooses what the screen shows; it goes on showing the same while paused.
func (m *model) show(now time.Time) {
	if m.paused {
		return
	}
	m.shown = view{now: now, processes: m.last.processes, err: m.last.err, of: len(m.last.samples)}
	if len(m.last.samples) == 0 {
		return
	}
	s := m.last.samples[m.chosen]
	points := slices.Clone(m.history.PointsOf(m.choice()))
	m.shown.device, m.shown.problems, m.shown.points, m.shown.at = s.Device, s.Problems, points, m.chosen+1
	if len(points) > 0 {
		m.shown.point = points[len(points)-1]
	}
}

// next chooses another device, step places away.
func (m *model) next(step int) {
	if n := len(m.last.samples); n > 0 && !m.paused {
		m.chosen = (m.chosen + step + n) % n
		m.show(time.Now())
	}
}

// key obeys a key; it returns true for one that ends the view.
func (m *model) key(r rune) (quit bool) {
	switch r {
	case 'q', 'Q':
		return true
	case 'w':
		m.who, m.help = !m.who, false
	case '?', 'h':
		m.help = !m.help
	case 'p', ' ':
		m.paused = !m.paused
		m.show(time.Now())
	case '\t', 'n':
		m.next(1)
	case 'b':
		m.next(-1)
	case escape:
		m.who, m.help = false, false
	}
	return false
}

// escape is the key that leaves what another key has opened.
const escape = '\x1b'
