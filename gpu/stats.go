// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"time"

	"zramfs/codec"
	"zramfs/codec/bulk"
)

// Stats say what an engine did of one operation, in pieces that came back done.
type Stats struct {
	Pieces, Failed int64 // those that failed count in nothing else
	Pages          int64
	In, Out        int64 // bytes to the device and back, with addresses and results
	Straight       int64 // of these, the ones that came from or went to the batch's own memory, without a copy on the way
	Times          bulk.Times
	Total          time.Duration // of all pieces, which may overlap
}

// BytesPerSecond is how many bytes of pages a second were done, of the time that pieces took; several at a time do more.
func (s Stats) BytesPerSecond() float64 {
	if s.Total <= 0 {
		return 0
	}
	return float64(s.Pages) * codec.PageSize / s.Total.Seconds()
}

// Ratio is the bytes of pages for each byte that was moved for their objects.
func (s Stats) Ratio(op bulk.Op) float64 {
	moved := s.In
	if op == bulk.Compress {
		moved = s.Out
	}
	if moved == 0 {
		return 0
	}
	return float64(s.Pages) * codec.PageSize / float64(moved)
}

// Outweighs reports whether computing took five times as long as the transfers, or longer.
func (s Stats) Outweighs() bool { return s.Times.Outweighs() }

// Stats says what the engine did of an operation since it was opened.
func (e *Engine) Stats(op bulk.Op) Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	if int(op) >= len(e.stats) {
		return Stats{}
	}
	return e.stats[op]
}

// note takes a piece that has ended into account.
func (e *Engine) note(op bulk.Op, s *slot, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if int(op) >= len(e.stats) {
		return
	}
	t := &e.stats[op]
	if err != nil {
		t.Failed++
		return
	}
	t.Pieces++
	t.Pages += s.done
	t.In += s.inBytes
	t.Out += s.outBytes
	t.Straight += s.spared
	t.Times.H2D += s.times.H2D
	t.Times.Kernel += s.times.Kernel
	t.Times.D2H += s.times.D2H
	t.Total += time.Since(s.began)
}
