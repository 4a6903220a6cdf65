// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"fmt"
	"os"
	"testing"
)

// Variables that make the test binary another program: the user of a mount must not be the process
// that serves it, because a thread that waits for its own process can wait for ever.
const (
	serveVariable = "ZRAMFS_FUSEFS_SERVE"
	peekVariable  = "ZRAMFS_FUSEFS_PEEK"
)

func TestMain(m *testing.M) {
	run := m.Run
	if config := os.Getenv(serveVariable); config != "" {
		run = func() int { return exitCode(serve(config)) }
	} else if os.Getenv(peekVariable) != "" {
		run = func() int { return exitCode(peek()) }
	}
	os.Exit(run())
}

func exitCode(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
