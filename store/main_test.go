// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"os"
	"testing"
)

// childVariable makes the test binary one of children instead of the tests: a
// process that another can kill.
const childVariable = "ZRAMFS_STORE_CHILD"

// children by name; files that are not in every build add theirs.
var children = map[string]func() error{}

func TestMain(m *testing.M) {
	name := os.Getenv(childVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := children[name](); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
