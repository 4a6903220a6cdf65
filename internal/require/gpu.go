// SPDX-License-Identifier: Apache-2.0

package require

import "testing"

// GPU skips the test unless a device was opened. err is the reason that package driver gave, so the
// requirement is what the program under test would use. The name in [Variable] is gpu.
func GPU(tb testing.TB, err error) {
	tb.Helper()
	if err == nil {
		check(tb, nameGPU, nil)
		return
	}
	check(tb, nameGPU, &unmet{err, "a machine with an NVIDIA GPU of compute capability 7.0 or newer, and go test -tags cuda"})
}
