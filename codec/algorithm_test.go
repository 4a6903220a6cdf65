// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// every returns the text of each algorithm that differs in what it does.
func every() []string {
	return []string{"adaptive", "adaptive:entropy", "lz4", "zstd(level=1)", "zstd", "zstd(level=6)", "zstd(level=19)", "raw"}
}

// fast returns every algorithm that gets through many pages in a short time.
func fast() []string {
	return []string{"adaptive", "adaptive:entropy", "lz4", "zstd(level=1)", "zstd", "raw"}
}

func TestParseAcceptsItsOwnText(t *testing.T) {
	names := slices.Concat(every(), Algorithms())
	for level := 1; level <= 19; level++ {
		names = append(names, fmt.Sprintf("zstd(level=%d)", level))
	}
	for _, name := range names {
		a, err := Parse(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b, err := Parse(a.String()); b != a || err != nil {
			t.Errorf("%s is written %s, which is read as %v, %v", name, a, b, err)
		}
	}
}

func TestTextIsCanonical(t *testing.T) {
	for name, want := range map[string]string{"zstd(level=3)": "zstd", "zstd": "zstd", "zstd(level=4)": "zstd(level=4)", "adaptive:entropy": "adaptive:entropy"} {
		a, err := Parse(name)
		if err != nil || a.String() != want {
			t.Errorf("%s is written %s, %v, not %s", name, a, err, want)
		}
	}
}

func TestUnknownAlgorithmSaysWhatToUse(t *testing.T) {
	for _, name := range []string{"", "lzo", "LZ4", " lz4", "lz4 ", "none", "zstd:3", "zstd(level=0)", "zstd(level=20)", "zstd(level=)",
		"zstd(level=3", "zstd(level=03)", "zstd(level=+3)", "zstd(level=-1)", "zstd(level=300)", "lz4(level=3)", "adaptive:", "adaptive:speed"} {
		a, err := Parse(name)
		if !errors.Is(err, ErrUnknownAlgorithm) {
			t.Errorf("%q: got %v, %v", name, a, err)
			continue
		}
		if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, fmt.Sprintf("%q", name)) || !strings.Contains(text, "use adaptive") {
			t.Errorf("%q: the error does not help: %s", name, text)
		}
	}
}

func TestZeroAlgorithmIsNone(t *testing.T) {
	var zero Algorithm
	if _, err := zero.NewCompressor(); !errors.Is(err, ErrUnknownAlgorithm) {
		t.Errorf("made a compressor: %v", err)
	}
	if _, err := Parse(zero.String()); !errors.Is(err, ErrUnknownAlgorithm) {
		t.Errorf("its text %q is read as an algorithm", zero)
	}
}

// The numbers are in images. This test may grow, but no line of it may ever change.
func TestIDsAreFrozen(t *testing.T) {
	for id, want := range map[ID]string{0: "none", 1: "raw", 2: "lz4", 3: "zstd"} {
		if got := id.String(); got != want {
			t.Errorf("ID %d is %s, not %s", id, got, want)
		}
	}
	if None != 0 || Raw != 1 || LZ4 != 2 || Zstd != 3 {
		t.Error("an ID has changed its number")
	}
	if got := ID(27).String(); got != "id 27" {
		t.Errorf("an unknown ID is called %s", got)
	}
}
