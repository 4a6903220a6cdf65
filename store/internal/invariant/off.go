// SPDX-License-Identifier: Apache-2.0

//go:build !invariants && !race

package invariant

// Enabled reports that the self-checks are not compiled in.
const Enabled = false

// Freed is what the bytes of a freed object read as until its space is used
// again.
const Freed = 0

// Point does nothing in this build.
func Point(string) {}
