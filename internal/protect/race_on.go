// SPDX-License-Identifier: Apache-2.0

//go:build race

package protect

// raceEnabled says that the race detector is in the build. It touches memory of its own for each
// byte that is allocated.
const raceEnabled = true
