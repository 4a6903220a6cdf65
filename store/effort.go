// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"

	"github.com/zramfs/zramfs/codec"
)

// How much time a page may take is decided for each write, from what the worker knows already: how
// busy its caller is (SetEffort), and whether memory is running out.

// scarceFrom is where memory is scarce, in eighths of the largest amount there can be: from there
// on a page that finds no room costs more than the time saved on it.
const scarceFrom = 7

// scarce reports whether used bytes of at most limit leave little.
func scarce(used, limit int64) bool { return used >= limit/8*scarceFrom }

// maxMemory is the memory that the store can ever take, in bytes.
func (s *Store) maxMemory() int64 {
	if limit := s.limit.Load(); limit != 0 {
		return int64(min(limit, math.MaxInt64))
	}
	return s.image.Size
}

// SetEffort says how much time there is for what is written until Release, from 0 for none to
// codec.MaxEffort, the default. It has an effect on algorithms that adapt.
func (w *Worker) SetEffort(level int) { w.effort = level }

// setEffort tells a compressor that adapts how much time it has.
func (w *Worker) setEffort(c *coder) {
	if c.adjustable == nil {
		return
	}
	level := w.effort
	if w.s.full.Load() || scarce(w.s.used(), w.s.maxMemory()) {
		level = codec.MaxEffort
	}
	c.adjustable.SetEffort(level)
}
