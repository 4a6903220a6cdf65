// SPDX-License-Identifier: Apache-2.0

//go:build !race

package protect

// raceEnabled says that the race detector is in the build.
const raceEnabled = false
