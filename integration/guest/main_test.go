// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"flag"
	"testing"
)

var machines = flag.Bool("machines", false, "boot the machines that take minutes of processor time")

// slow skips a test that takes minutes, unless make test-guest runs it.
func slow(t *testing.T) {
	t.Helper()
	if !*machines {
		t.Skip("it takes minutes (make test-guest, or -machines)")
	}
}
