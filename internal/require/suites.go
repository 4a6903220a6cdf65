// SPDX-License-Identifier: Apache-2.0

package require

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// SuitesVariable is the environment variable that names the directory of others' suites.
const SuitesVariable = "ZRAMFS_SUITES"

// Suite skips the test unless the directory that [SuitesVariable] names has this suite of others,
// built, and returns its path. There is no default: suites take hours, and some turn swap on. The
// name in [Variable] is suites.
func Suite(tb testing.TB, name string) string {
	tb.Helper()
	path, missing := trySuite(name)
	check(tb, nameSuites, missing)
	return path
}

func trySuite(name string) (string, *unmet) {
	fix := "make suites SOURCES=DIR, with the sources of ltp, blktests and xfstests in DIR"
	dir := os.Getenv(SuitesVariable)
	if dir == "" {
		return "", &unmet{errors.New(SuitesVariable + " names no directory with suites of others"), fix}
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return "", &unmet{err, fix}
	}
	return path, nil
}
