// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A laboratory knows of the same mutants alone which tests meet them: in another sample, as large,
// each number is another mutant.
func TestKnownOfTheSameMutants(t *testing.T) {
	first := []*mutant{{number: 0, file: "a.go", line: 1, change: "`<` to `<=`"}, {number: 1, file: "a.go", line: 2, change: "`+` to `-`"}}
	other := []*mutant{first[1], first[0]}
	dir := t.TempDir()
	var log bytes.Buffer
	l := &laboratory{dir: dir, compiled: digestOf(first)}
	if err := l.remember(&log, "store", &test{name: "TestA", met: []byte("01")}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "map"), log.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if known := l.known()["store TestA"]; len(known) < 4 || known[3] != "01" {
		t.Errorf("of the same: %q", known)
	}
	if known := (&laboratory{dir: dir, compiled: digestOf(other)}).known(); len(known) != 0 {
		t.Errorf("of another sample: %q", known)
	}
}
