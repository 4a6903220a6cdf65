// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bytes"
	"strings"
	"testing"
)

// TestProgressLines wants a line for each step that was passed, and none twice.
func TestProgressLines(t *testing.T) {
	var out strings.Builder
	p := &lines{out: &out, what: "swapoff", total: 1000 << 20}
	for _, mib := range []uint64{0, 5, 99, 100, 101, 199, 450, 460, 440, 990, 1000} {
		if err := p.Show(mib << 20); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.End(); err != nil {
		t.Fatal(err)
	}
	want := "swapoff  10%  100M of 1000M\nswapoff  40%  450M of 1000M\nswapoff  90%  990M of 1000M\n"
	if out.String() != want {
		t.Errorf("lines:\n%swant:\n%s", out.String(), want)
	}
}

// TestProgressBar draws the terminal's form and wants it to reach its end.
func TestProgressBar(t *testing.T) {
	var out strings.Builder
	b := newBar(&out, "swapoff", 100<<20)
	for _, mib := range []uint64{10, 50, 100} {
		if err := b.Show(mib << 20); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.End(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "swapoff") || !strings.Contains(out.String(), "50%") {
		t.Errorf("drew %q", out.String())
	}
}

// NewSteps shows progress only on a terminal.
func TestNoStepsWithoutATerminal(t *testing.T) {
	if _, ok := NewSteps(&bytes.Buffer{}, "working", 100).(nothing); !ok {
		t.Error("progress is shown where there is no terminal")
	}
}
