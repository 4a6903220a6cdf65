// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"time"

	"github.com/zramfs/zramfs/codec/bulk"
)

// Stats are an engine's counts for one operation, of pieces that succeeded. Ratio and speed are in
// [bulk.Report].
type Stats struct {
	Pieces, Failed int64 // failed pieces count nowhere else
	Pages          int64
	In, Out        int64 // bytes to the device and back, with addresses and results
	Straight       int64 // of these, bytes copied from or to the batch's own memory
	Times          bulk.Times
	Total          time.Duration // of all pieces, which may overlap
}

// Stats returns the counts of an operation since the engine was opened.
func (e *Engine) Stats(op bulk.Op) Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	if int(op) >= len(e.stats) {
		return Stats{}
	}
	return e.stats[op]
}

// note counts a piece that has ended.
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
