// SPDX-License-Identifier: Apache-2.0

//go:build invariants || race

package invariant

// Enabled reports that the self-checks are compiled in.
const Enabled = true

// Freed is what the bytes of a freed object read as until its space is used
// again: a pattern that a use after free cannot mistake for data.
const Freed = 0xCC
