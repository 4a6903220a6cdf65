// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"fmt"
	"os"
	"testing"
)

// serveVariable makes the test binary the serving process: the user of a mount must not be the
// process that serves it.
const serveVariable = "ZRAMFS_RING_SERVE"

func TestMain(m *testing.M) {
	run := m.Run
	if config := os.Getenv(serveVariable); config != "" {
		run = func() int {
			if err := serve(config); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return 0
		}
	}
	os.Exit(run())
}
