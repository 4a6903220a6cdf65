// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"
)

// The tests' program plays the parts that it starts itself for, as the tool does.
func TestMain(m *testing.M) {
	if part := os.Getenv(partVariable); part != "" {
		os.Exit(play(part, os.Args[1:]))
	}
	os.Exit(m.Run())
}
