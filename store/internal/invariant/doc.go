// SPDX-License-Identifier: Apache-2.0

// Package invariant says whether the expensive self-checks of the store are
// compiled in: build tag invariants, or the race detector. Enabled is a
// constant, so that a release build carries no trace of a check. It must only
// add checks; the path that the data takes is the same in every build. It also
// lets tests stop a process at a Point, as if it had been killed there.
package invariant
