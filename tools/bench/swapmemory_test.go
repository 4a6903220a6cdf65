// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"runtime/debug"
	"testing"
)

func TestParseKibibytes(t *testing.T) {
	if got, err := parseKibibytes("MemTotal: 9 kB\nMemAvailable:    2048 kB\n", "MemAvailable"); err != nil || got != 2<<20 {
		t.Errorf("%d, %v", got, err)
	}
	for _, text := range []string{"", "MemAvailable: many kB\n", "XMemAvailable: 1 kB\n"} {
		if got, err := parseKibibytes(text, "MemAvailable"); !errors.Is(err, errKernelText) {
			t.Errorf("%q gives %d, %v", text, got, err)
		}
	}
}

// Memory that a process has mapped and touched counts as its memory.
func TestServerMemory(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	us := party{server: program}
	debug.FreeOSMemory() // what tests before this one left is not given back in between
	before, err := us.serverMemory()
	if err != nil || before == 0 {
		t.Fatalf("%d bytes, %v", before, err)
	}
	const size = 64 << 20
	held := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		held[i] = 1
	}
	after, err := us.serverMemory()
	if err != nil || after < before+size*9/10 {
		t.Errorf("%d bytes, after %d more %d, %v", before, len(held), after, err)
	}
	if got, err := (party{server: "/nowhere"}).serverMemory(); err != nil || got != 0 {
		t.Errorf("no process takes %d bytes, %v", got, err)
	}
}
