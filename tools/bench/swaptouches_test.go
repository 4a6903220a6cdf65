// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// counted returns how often each page is touched.
func counted(t *testing.T, touches []touch, pages int) []int {
	t.Helper()
	counts := make([]int, pages)
	for _, one := range touches {
		counts[one.page]++
	}
	return counts
}

func TestUniformTouches(t *testing.T) {
	const pages, each = 100, 400
	touches, err := touchesOf(workUniform, pages, pages*each, 1)
	if err != nil || len(touches) != pages*each {
		t.Fatalf("%d touches, %v", len(touches), err)
	}
	for page, n := range counted(t, touches, pages) {
		if n < each*3/4 || n > each*5/4 {
			t.Errorf("page %d: %d touches of about %d", page, n, each)
		}
	}
	for seed, same := range map[uint64]bool{1: true, 2: false} {
		if again, err := touchesOf(workUniform, pages, pages*each, seed); err != nil || slices.Equal(again, touches) != same {
			t.Errorf("seed %d: the same: %t, %v", seed, !same, err)
		}
	}
}

// The hottest page has the share that the exponent gives it. Once the hot set has moved, it is
// cold.
func TestZipfTouches(t *testing.T) {
	const pages, count = 1000, 400_000
	touches, err := touchesOf(workZipf, pages, count, 1)
	if err != nil || len(touches) != count {
		t.Fatalf("%d touches, %v", len(touches), err)
	}
	sum := 0.0
	for i := range pages {
		sum += math.Pow(float64(i+1), -zipfExponent)
	}
	const part = count / zipfMoves
	first, second := counted(t, touches[:part], pages), counted(t, touches[part:2*part], pages)
	want := part / sum
	for name, counts := range map[string][]int{"first": first, "second": second} {
		if got := float64(slices.Max(counts)); got < want*0.9 || got > want*1.1 {
			t.Errorf("%s part: the hottest page has %g touches, want about %g", name, got, want)
		}
	}
	if hottest := slices.Index(first, slices.Max(first)); float64(second[hottest]) > want/100 {
		t.Errorf("it has %d touches once the hot set has moved", second[hottest])
	}
}

// traceFile writes a trace.
func traceFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.gz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(file)
	_, err = z.Write([]byte(text))
	if err := errors.Join(err, z.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// A replay has the order of the trace, with pages side by side that are neighbours there. A copy
// that fills the rest begins in the middle, and has the pages that there are.
func TestReplay(t *testing.T) {
	path := traceFile(t, "# remark\n3 w 803 2\n0 w -643 1\n1 d 0 8\n0 r 644 1\n") // pages 803, 804, 160, 804
	for pages, want := range map[int][]touch{
		16: {{11, true}, {12, true}, {0, true}, {12, false}},
		24: {{11, true}, {16, true}, {12, true}, {0, true}, {12, false}},
	} {
		if got, err := touchesOf(path, pages, 1<<20, 0); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d pages: %v, %v; want %v", pages, got, err, want)
		}
	}
	if got, err := touchesOf(path, 24, 2, 0); err != nil || !slices.Equal(got, []touch{{11, true}, {16, true}}) {
		t.Errorf("two touches: %v, %v", got, err)
	}
	if _, err := touchesOf(path, 15, 1, 0); !errors.Is(err, errTrace) {
		t.Errorf("more pages than the load has: %v", err)
	}
	for _, text := range []string{"", "0 d 1 8\n", "0 w -1 1\n"} {
		if _, err := touchesOf(traceFile(t, text), 1000, 1, 0); !errors.Is(err, errTrace) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := touchesOf(traceFile(t, "0 w many\n"), 1000, 1, 0); err == nil {
		t.Error("text that is no trace is accepted")
	}
	if _, err := touchesOf("absent", 1000, 1, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent trace: %v", err)
	}
}

// The recorded traces can be replayed on the load of a small limit, and touch all parts of it.
func TestReplayOfRecordedTraces(t *testing.T) {
	paths, err := filepath.Glob("../../internal/idlework/testdata/ages/*.gz")
	if err != nil || len(paths) != 4 {
		t.Fatalf("%q, %v", paths, err)
	}
	const pages = 3 * 64 << 20 / 4096
	for _, path := range paths {
		touches, err := touchesOf(path, pages, 1<<20, 0)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		untouched, writes := 0, 0
		for _, n := range counted(t, touches, pages) {
			if n == 0 {
				untouched++
			}
		}
		for _, one := range touches {
			if one.write {
				writes++
			}
		}
		t.Logf("%s: %d touches, %d of them writes, %d of %d pages untouched", path, len(touches), writes, untouched, pages)
		if untouched > pages/4 || writes == 0 || writes == len(touches) {
			t.Errorf("%s: %d touches, %d of them writes, %d of %d pages untouched", path, len(touches), writes, untouched, pages)
		}
	}
}
