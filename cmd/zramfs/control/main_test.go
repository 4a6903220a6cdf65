// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"os"
	"testing"
)

// TestMain makes the test binary a process of another user when "stranger" is its argument.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "stranger" {
		if err := childStranger(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
