// SPDX-License-Identifier: Apache-2.0

package store

import "github.com/zramfs/zramfs/codec"

// How much time a page may take is decided for each write, from what is known without asking: how
// busy whoever has the worker is (SetEffort), and whether memory is running out.

// scarceFrom is, in eighths of the most memory that there can be, where it is scarce: from there on
// a page that finds no room costs more than the time saved on it.
const scarceFrom = 7

// scarce reports whether of most bytes of memory, used ones leave little.
func scarce(used, most int64) bool { return used >= most/8*scarceFrom }

// most is the memory that the store can ever take, in bytes.
func (s *Store) most() int64 {
	if s.cfg.MemLimit != 0 {
		return int64(s.cfg.MemLimit)
	}
	return s.image.Size
}

// SetEffort says how much time there is for what is written until Release, from 0 for none to
// codec.MaxEffort, which it is without a word. An algorithm that does not adapt takes no notice.
func (w *Worker) SetEffort(level int) { w.effort = level }

// setEffort tells the compressor, if it wants to know, how much time it has.
func (w *Worker) setEffort() {
	if w.adjustable == nil {
		return
	}
	level := w.effort
	if w.s.full.Load() || scarce(w.s.used(), w.s.most()) {
		level = codec.MaxEffort
	}
	w.adjustable.SetEffort(level)
}
