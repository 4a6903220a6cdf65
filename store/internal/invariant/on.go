// SPDX-License-Identifier: Apache-2.0

//go:build invariants || race

package invariant

import "sync/atomic"

// Enabled reports that the self-checks are compiled in.
const Enabled = true

// Freed is what the bytes of a freed object read as until its space is used
// again: a pattern that a use after free cannot mistake for data.
const Freed = 0xCC

var hook atomic.Pointer[func(point string)]

// Point marks a moment at which a process may die and leave the image as it is
// then. Its name is unique.
func Point(name string) {
	if f := hook.Load(); f != nil {
		(*f)(name)
	}
}

// Hook has f called at each Point, by whichever goroutine comes there; nil ends
// that.
func Hook(f func(point string)) {
	if f == nil {
		hook.Store(nil)
		return
	}
	hook.Store(&f)
}
