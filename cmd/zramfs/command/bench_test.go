// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/internal/held"
	"github.com/zramfs/zramfs/cmd/zramfs/sample"

	"github.com/zramfs/zramfs/codec"
)

// benchOf runs bench codec as a program, for a moment, and reads its JSON.
func benchOf(t *testing.T, args ...string) benchReport {
	t.Helper()
	got := runProgram(t, append([]string{"bench", "codec", "--json", "--seconds", "0.2"}, args...)...)
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d, stderr %q", got.code, got.stderr)
	}
	var b benchReport
	d := json.NewDecoder(strings.NewReader(got.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		t.Fatalf("%v in %s", err, got.stdout)
	}
	return b
}

// knownFile is a file of known pages.
func knownFile(t *testing.T, pages int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pages")
	if err := os.WriteFile(path, held.Pages(pages), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every algorithm is measured in every implementation, and one of each is the selected one.
func TestBenchMeasuresEveryImplementation(t *testing.T) {
	b := benchOf(t, "--file", knownFile(t, 60))
	var want []string
	for _, a := range codec.Comparable() {
		for _, v := range a.Variants() {
			if v.Name != rawName {
				want = append(want, v.Name+" "+v.Set)
			}
		}
	}
	var got []string
	selected := map[string]int{}
	defaults := 0
	for _, r := range b.Results[1:] {
		set := ""
		if r.Implementation != nil {
			set = *r.Implementation
		}
		got = append(got, r.Algorithm+" "+set)
		if r.Selected {
			selected[r.Algorithm]++
		}
		if r.Default {
			defaults++
		}
	}
	if !slices.Equal(got, want) || b.Results[0].Algorithm != anchorName {
		t.Errorf("measured %q after %s, want %q", got, b.Results[0].Algorithm, want)
	}
	for _, r := range b.Results[1:] {
		if selected[r.Algorithm] != 1 {
			t.Errorf("%d implementations of %s are selected", selected[r.Algorithm], r.Algorithm)
		}
	}
	if defaults != 1 {
		t.Errorf("%d algorithms are the default", defaults)
	}
	if sets := codec.InstructionSets(); !slices.Equal(b.Sets.Detected, sets.Detected) || !slices.Equal(b.Sets.Usable, sets.Usable) {
		t.Errorf("instruction sets %+v, want %+v", b.Sets, sets)
	}
}

// What is measured of known pages is what is known of them, and no time is nothing.
func TestBenchFigures(t *testing.T) {
	b := benchOf(t, "--file", knownFile(t, 60), "--algorithm", "lz4")
	if b.Pages != 40 || b.SameFilled != 20 || b.Rounds < 1 || b.Generated {
		t.Errorf("%+v", b)
	}
	for _, r := range b.Results {
		if r.Algorithm == anchorName {
			if r.Ratio != 1 || r.Incompressible != 1 {
				t.Errorf("%+v: memcpy compresses", r)
			}
		} else if math.Abs(r.Incompressible-0.5) > 1e-9 || r.Ratio < 1.9 || r.Ratio > 2 {
			t.Errorf("%+v: want half of the pages raw", r)
		}
		for _, d := range []benchTime{r.Compress, r.Decompress} {
			if !(d.Speed > 1) || math.IsInf(d.Speed, 0) || !(d.P99 > 0) || d.P50 > d.P99 {
				t.Errorf("%s: %+v", r.Algorithm, d)
			}
		}
	}
}

// An instruction set that is switched off is not measured, and said to be off.
func TestBenchWithoutAnInstructionSet(t *testing.T) {
	sets := codec.InstructionSets()
	if len(sets.Usable) < 2 {
		t.Skip("this machine has plain Go alone")
	}
	off := sets.Usable[0]
	t.Setenv("ZRAMFS_DISABLE", off)
	b := benchOf(t, "--algorithm", "lz4", "--file", knownFile(t, 6))
	if slices.Contains(b.Sets.Usable, off) || !slices.Contains(b.Sets.Detected, off) {
		t.Errorf("instruction sets %+v", b.Sets)
	}
	for _, r := range b.Results {
		if r.Implementation != nil && *r.Implementation == off {
			t.Errorf("%s is measured", off)
		}
	}
	if got := runProgram(t, "bench", "codec", "--seconds", "0.01"); !strings.Contains(got.stdout, "switched off by ZRAMFS_DISABLE: "+off) {
		t.Errorf("not said to be switched off: %s", got.stdout)
	}
}

// One implementation alone can be asked for.
func TestBenchOfOneImplementation(t *testing.T) {
	b := benchOf(t, "--algorithm", "lz4:simd=generic,zstd(level=1)", "--file", knownFile(t, 6))
	if len(b.Results) != 3 || *b.Results[1].Implementation != "generic" || b.Results[2].Algorithm != "zstd(level=1)" {
		t.Errorf("%+v", b.Results)
	}
}

func TestBenchOfAProcess(t *testing.T) {
	pid, _ := held.Start(t)
	b := benchOf(t, "--algorithm", "lz4", "--pid", strconv.Itoa(pid))
	if b.Source != fmt.Sprintf("process %d", pid) || b.SameFilled < held.Count/4 || b.Pages < turnPages {
		t.Errorf("%+v", b)
	}
}

func TestBenchText(t *testing.T) {
	got := runProgram(t, "bench", "codec", "--seconds", "0.01", "--algorithm", "lz4,"+codec.Algorithms()[0])
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	lz4, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	selected := lz4.Variants()[0].Set + " (selected)"
	for _, want := range []string{
		"pages of generated memory, 0 pages left out", "instruction sets: " + strings.Join(codec.InstructionSets().Usable, ", "), "ALGORITHM",
		"IMPLEMENTATION", "\nmemcpy ", selected, "\n" + codec.Algorithms()[0] + " (selected) ", "Use --pid or --file",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
}

func TestBenchUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"device"}, {"codec", "codec"}, {"codec", "--seconds", "0"}, {"codec", "--seconds", "-1"}, {"codec", "--seconds", "NaN"},
		{"codec", "--seconds", "9999"}, {"codec", "--seconds", "x"}, {"codec", "--algorithm", "gzip"}, {"codec", "--pid", "0"},
		{"codec", "--pid", "1", "--generated"}, {"codec", "--file", "a", "--pid", "1"}, {"codec", "--file", ""}, {"codec", "--banana"},
	} {
		got := runProgram(t, append([]string{"bench"}, args...)...)
		if got.code != exitUsage || !strings.HasPrefix(got.stderr, "zramfs: ") || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

func TestBenchOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "zeros")
	if err := os.WriteFile(path, make([]byte, 10*pageSize), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{path: "every page is one repeated word", path + "x": "no such file"} {
		got := runProgram(t, "bench", "codec", "--file", name)
		if got.code != exitFailure || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %q", name, got, want)
		}
	}
}

// newRun makes a run over generated pages for some algorithms.
func newRun(t *testing.T, list string) *benchRun {
	t.Helper()
	variants, err := benched(list)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newBenchRun(sample.Generate(2*turnPages), variants)
	if err != nil {
		t.Fatal(err)
	}
	r.start = time.Now()
	return r
}

// Each round is one turn of everybody with the same pages, and each page is in one turn.
func TestBenchRounds(t *testing.T) {
	r := newRun(t, "lz4:simd=generic")
	if got := len(slices.Concat(r.turns...)); got != r.pages*pageSize || len(r.turns) != 2 {
		t.Errorf("%d turns with %d bytes of %d pages", len(r.turns), got, r.pages)
	}
	for range 5 {
		if err := r.round(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range r.contestants {
		if len(c.turnTimes[compressing][0]) != 3 || len(c.turnTimes[decompressing][1]) != 2 || c.seen != int64(r.pages) {
			t.Errorf("%s: %d pages seen, times %v", c.Name, c.seen, c.turnTimes)
		}
	}
}

// broken is a codec that loses a bit.
type broken struct{ codec.Compressor }

func (b broken) Compress(dst, page []byte) (codec.ID, int, error) {
	id, n, err := b.Compressor.Compress(dst, page)
	dst[n-1] ^= 1
	return id, n, err
}

// A codec that does not give back what it got is no codec to be measured.
func TestBenchNoticesAWrongPage(t *testing.T) {
	r := newRun(t, "lz4:simd=generic")
	r.contestants[1].compressor = broken{r.contestants[1].compressor}
	if err := r.round(); err == nil {
		t.Error("not noticed")
	}
}

// Of more times than are kept, the last are.
func TestBenchKeepsTheLastTimes(t *testing.T) {
	c := &contestant{}
	for i := range maxTimes + 10 {
		c.keep(compressing, time.Duration(i))
	}
	slices.Sort(c.pageTimes[compressing])
	if got := c.pageTimes[compressing]; len(got) != maxTimes || got[0] != 10 || got[maxTimes-1] != maxTimes+9 {
		t.Errorf("%d times from %d to %d", len(got), got[0], got[len(got)-1])
	}
}

func TestMicroseconds(t *testing.T) {
	var times []time.Duration
	for i := range 101 {
		times = append(times, time.Duration(i)*time.Microsecond)
	}
	if p50, p99 := microseconds(times, 50), microseconds(times, 99); p50 != 50 || p99 != 99 {
		t.Errorf("p50 %v, p99 %v", p50, p99)
	}
	if got := median([]time.Duration{4, 1, 3, 2}); got != 2 {
		t.Errorf("median %d", got)
	}
}

// Generated pages are the same each time and hold nothing that the measurement would leave out.
func TestGeneratedSample(t *testing.T) {
	a, b := sample.Generate(100), sample.Generate(100)
	if !slices.Equal(a.Pages, b.Pages) || a.Count() != 100 {
		t.Error("not the same twice")
	}
	if _, same := sample.WithoutSameFilled(a.Pages); same != 0 {
		t.Errorf("%d pages are same-filled", same)
	}
}
