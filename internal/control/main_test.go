// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"os"
	"testing"
)

// strangers are the parts that the test binary plays as a process of another user.
var strangers = map[string]func() error{"stranger": childStranger, "flood": childFlood}

// TestMain makes the test binary a process of another user when its argument is one of strangers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strangers[os.Args[1]] != nil {
		if err := strangers[os.Args[1]](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
