// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"time"

	"github.com/zramfs/zramfs/codec/bulk"
)

// Stats say what an engine did of one operation, in pieces that came back done, and moved for it.
// Ratio and speed are a [bulk.Report]'s.
type Stats struct {
	Pieces, Failed int64 // those that failed count in nothing else
	Pages          int64
	In, Out        int64 // bytes to the device and back, with addresses and results
	Straight       int64 // of these, the ones that came from or went to the batch's own memory, without a copy on the way
	Times          bulk.Times
	Total          time.Duration // of all pieces, which may overlap
}

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
