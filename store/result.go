// SPDX-License-Identifier: Apache-2.0

package store

import (
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// Result is what a worker's pages are stored as: those that it has read, and those that it has
// written as they are now.
type Result struct {
	// Codec is the format of all of them, MetSame for same-filled ones; MetNothing where none is
	// stored, as after a discard, and MetMixed where they differ.
	Codec codec.ID
	// Bytes is what their objects take, without headers.
	Bytes uint32

	some bool
}

// Values of Met.Codec that no object has.
const (
	MetSame    = codec.ID(image.SameSmall)
	MetMixed   = codec.ID(0xfe)
	MetNothing = codec.ID(0xff)
)

// Result returns what the pages since Acquire are stored as.
func (w *Worker) Result() Result {
	if !w.result.some {
		return Result{Codec: MetNothing}
	}
	return w.result
}

// add takes a page's entry down.
func (m *Result) add(e image.Entry) {
	id := MetNothing
	switch {
	case e.Object():
		id = e.Codec()
		m.Bytes += uint32(e.Share())
	case e != 0:
		id = MetSame
	}
	if m.some && m.Codec != id {
		id = MetMixed
	}
	m.Codec, m.some = id, true
}
