// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/loopsetup"
)

// TestProgressLines wants a line for each step that was passed, and none twice.
func TestProgressLines(t *testing.T) {
	var out strings.Builder
	p := &lines{out: &out, total: 1000 << 20}
	for _, mib := range []uint64{0, 5, 99, 100, 101, 199, 450, 460, 440, 990, 1000} {
		if err := p.show(mib << 20); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	want := "swapoff  10%  100M of 1000M\nswapoff  40%  450M of 1000M\nswapoff  90%  990M of 1000M\n"
	if out.String() != want {
		t.Errorf("lines:\n%swant:\n%s", out.String(), want)
	}
}

// TestShowReturn wants the outcome of the swapoff, for an area that is not there and so has come
// back altogether.
func TestShowReturn(t *testing.T) {
	areas := []loopsetup.Swap{{Path: "/dev/nonexistent", Used: 1 << 20}}
	cause := errors.New("cause")
	for _, want := range []error{nil, cause} {
		done := make(chan error, 1)
		done <- want
		if err := showReturn(&strings.Builder{}, areas, done); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestProgressBar draws the terminal's form and wants it to reach its end.
func TestProgressBar(t *testing.T) {
	var out strings.Builder
	b := newBar(&out, 100<<20)
	for _, mib := range []uint64{10, 50, 100} {
		if err := b.show(mib << 20); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.end(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "swapoff") || !strings.Contains(out.String(), "50%") {
		t.Errorf("drew %q", out.String())
	}
}
