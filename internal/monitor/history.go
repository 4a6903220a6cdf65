// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"slices"
	"time"
)

const (
	// trendTime is the time that the growth is measured over, trendLeast the least.
	trendTime  = time.Minute
	trendLeast = 5 * time.Second
	// trendEnd bounds the forecast.
	trendEnd = 24 * time.Hour
)

// A History keeps the last points of each device. It is used by one goroutine.
type History struct {
	limit  int
	series []*series // in the order of the first samples
}

// series are the points of one device.
type series struct {
	dir      string
	points   []Point // the oldest first
	answered *Sample // the last one with figures of the device itself
	present  bool    // in the last samples
}

// NewHistory returns a history that keeps at most limit points of a device, at least two.
func NewHistory(limit int) *History { return &History{limit: max(limit, 2)} }

// Add adds the samples of one look at all devices, and returns their points, in the order of the
// samples. It forgets devices that are no longer there.
func (h *History) Add(samples []Sample) []Point {
	points := make([]Point, len(samples))
	for _, s := range h.series {
		s.present = false
	}
	for i, sample := range samples {
		points[i] = h.of(sample.Device.Title()).add(sample, h.limit)
	}
	h.series = slices.DeleteFunc(h.series, func(s *series) bool { return !s.present })
	return points
}

// Dirs returns the names of the devices, in the order in which they were first seen.
func (h *History) Dirs() []string {
	dirs := make([]string, len(h.series))
	for i, s := range h.series {
		dirs[i] = s.dir
	}
	return dirs
}

// Points returns the kept points of a device, the oldest first; none for an unknown one. The caller
// may not change them, nor use them after the next Add.
func (h *History) Points(dir string) []Point { return h.PointsOf(dir, 0) }

// PointsOf is Points of one of several devices with one name, whose samples had n others of that
// name before them.
func (h *History) PointsOf(dir string, n int) []Point {
	for _, s := range h.series {
		if s.dir != dir {
			continue
		}
		if n == 0 {
			return s.points
		}
		n--
	}
	return nil
}

// of returns the series of a device, a new one if need be. Of several devices with one name, as
// after a mount on a mount, each sample of one Add has its own.
func (h *History) of(dir string) *series {
	for _, s := range h.series {
		if s.dir == dir && !s.present {
			return s
		}
	}
	s := &series{dir: dir}
	h.series = append(h.series, s)
	return s
}

// add makes the point of a sample.
func (s *series) add(sample Sample, limit int) Point {
	s.present = true
	p := state(sample)
	if sample.Device.Status != nil {
		if s.answered != nil && s.sameDevice(sample) {
			p.addRates(*s.answered, sample)
		}
		s.answered = &sample
	}
	if len(s.points) == limit {
		s.points = slices.Delete(s.points, 0, 1)
	}
	s.points = append(s.points, p)
	last := &s.points[len(s.points)-1]
	last.addTrend(s.points)
	return *last
}

// sameDevice reports whether a sample is of the device of the last one: its counters go on. A
// device that was ended and made again at the same DIR has another keeper.
func (s *series) sameDevice(sample Sample) bool {
	a, b := s.answered.Device.Status, sample.Device.Status
	return a.KeeperPID == b.KeeperPID && a.UptimeSeconds <= b.UptimeSeconds
}

// addTrend adds growth and forecast, from points whose last one is p: over trendTime, or since the
// point before where that is longer ago.
func (p *Point) addTrend(points []Point) {
	if !p.Answered() {
		return
	}
	first := p
	for i := len(points) - 1; i >= 0; i-- {
		q := &points[i]
		old := i < len(points)-2 && p.at.Sub(q.at) > trendTime
		if old || q.SwapSize != p.SwapSize || q.Uptime > p.Uptime {
			break
		}
		if q.Answered() {
			first = q
		}
	}
	seconds := p.at.Sub(first.at).Seconds()
	if seconds < trendLeast.Seconds() {
		return
	}
	p.Growth = (float64(p.fill()) - float64(first.fill())) / seconds
	left := []float64{timeLeft(p.SwapSize, p.SwapUsed, p.Growth),
		timeLeft(p.MemoryLimit, p.Memory, (float64(p.Memory)-float64(first.Memory))/seconds)}
	if full := slices.Min(left); full < trendEnd.Seconds() {
		p.FullIn = &full
	}
}

// fill is what the growth is of.
func (p Point) fill() uint64 {
	if p.SwapSize == 0 {
		return p.Stored
	}
	return p.SwapUsed
}

// timeLeft is the time in seconds until used reaches size; trendEnd where it does not.
func timeLeft(size, used uint64, growth float64) float64 {
	if size == 0 || growth <= 0 {
		return trendEnd.Seconds()
	}
	return min(float64(size-min(used, size))/growth, trendEnd.Seconds())
}
