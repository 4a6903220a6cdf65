// SPDX-License-Identifier: Apache-2.0

package term

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestBarLine(t *testing.T) {
	for _, c := range []struct {
		done, total uint64
		after       time.Duration
		want        string
	}{
		{0, 200 << 20, 0, "swapoff   0% [                    ] 0B of 200M"},
		{50 << 20, 200 << 20, 10 * time.Second, "swapoff  25% [=====               ] 50M of 200M, 30s to go"},
		{200 << 20, 200 << 20, time.Minute, "swapoff 100% [====================] 200M of 200M"},
		{0, 0, time.Minute, "swapoff 100% [====================] 0B of 0B"},
	} {
		b := newBar(io.Discard, "swapoff", c.total)
		b.done = c.done
		if got := b.line(c.after); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.done, c.total, got, c.want)
		}
	}
}

// A bar that is moved often draws seldom, and its end leaves an empty line.
func TestBarDrawsSeldom(t *testing.T) {
	var out strings.Builder
	s := stepBar{&bar{out: &out, what: "measuring", total: 1000, began: time.Now(), pause: time.Hour}}
	for range 999 {
		if err := s.Add(1); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "measuring"); n != 1 {
		t.Errorf("%d drawings, want 1", n)
	}
	if err := errors.Join(s.Add(5), s.End()); err != nil || !strings.Contains(out.String(), "100%") || !strings.HasSuffix(out.String(), clearLine) {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// A bar stays in its line on a narrow terminal: the rest of it would remain after each drawing.
func TestBarOnANarrowTerminal(t *testing.T) {
	for _, width := range []int{1, 10, 40, 80} {
		var out strings.Builder
		b := newBar(&out, "swapoff", 200<<20)
		b.width, b.began = width, time.Now().Add(-time.Minute)
		if err := b.Show(50 << 20); err != nil {
			t.Fatal(err)
		}
		line := strings.TrimPrefix(out.String(), clearLine)
		if got := DisplayWidth(line); got >= width || width > 1 && got == 0 || width == 80 && !strings.HasSuffix(line, "to go") {
			t.Errorf("%d characters on a terminal of %d: %q", got, width, line)
		}
	}
}
