// SPDX-License-Identifier: Apache-2.0

//go:build invariants || race

package invariant

import "github.com/zramfs/zramfs/internal/killpoint"

// Enabled reports that the self-checks are compiled in.
const Enabled = true

// Freed is what the bytes of a freed object read as until its space is used
// again: a pattern that a use after free cannot mistake for data.
const Freed = 0xCC

// Point marks a moment at which a process may die and leave the image as it is
// then. Its name is unique.
func Point(name string) { killpoint.At(name) }

// Hook has f called at each Point, by whichever goroutine comes there; nil ends
// that.
func Hook(f func(point string)) { killpoint.Hook(f) }
