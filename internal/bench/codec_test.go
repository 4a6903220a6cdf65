// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/memproc"
	"github.com/zramfs/zramfs/internal/sample"
)

// options measure algorithms for a moment.
func options(t *testing.T, names ...string) Options {
	t.Helper()
	o := Options{Length: 100 * time.Millisecond, Progress: io.Discard}
	for _, name := range names {
		a, err := codec.Parse(name, "second")
		if err != nil {
			t.Fatal(err)
		}
		o.Algorithms = append(o.Algorithms, a)
	}
	return o
}

// known is a sample of known pages.
func known(pages int) sample.Sample {
	return sample.Sample{Pages: memproc.Pages(pages), Source: "known pages"}
}

// codecOf measures known pages.
func codecOf(t *testing.T, pages int, o Options) CodecReport {
	t.Helper()
	b, err := Codec(known(pages), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every algorithm is measured in every implementation, and one of them is selected.
func TestCodecMeasuresEveryImplementation(t *testing.T) {
	o := options(t)
	o.Algorithms = codec.Comparable()
	b := codecOf(t, 60, o)
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
	if !slices.Equal(got, want) || b.Results[0].Algorithm != copyName {
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

// The figures of known pages are the known ones, and no time is 0.
func TestCodecFigures(t *testing.T) {
	b := codecOf(t, 60, options(t, "lz4"))
	if b.Pages != 40 || b.SameFilled != 20 || b.Rounds < 1 || b.Generated {
		t.Errorf("%+v", b)
	}
	for _, r := range b.Results {
		if r.Algorithm == copyName {
			if r.Ratio != 1 || r.Incompressible != 1 {
				t.Errorf("%+v: memcpy compresses", r)
			}
		} else if math.Abs(r.Incompressible-0.5) > 1e-9 || r.Ratio < 1.9 || r.Ratio > 2 {
			t.Errorf("%+v: want half of the pages raw", r)
		}
		for _, d := range []Timing{r.Compress, r.Decompress} {
			if !(d.Speed > 1) || math.IsInf(d.Speed, 0) || !(d.P99 > 0) || d.P50 > d.P99 {
				t.Errorf("%s: %+v", r.Algorithm, d)
			}
		}
	}
}

// An algorithm may name one implementation.
func TestCodecOfOneImplementation(t *testing.T) {
	b := codecOf(t, 6, options(t, "lz4:simd=generic", "zstd(level=1)"))
	if len(b.Results) != 3 || *b.Results[1].Implementation != "generic" || b.Results[2].Algorithm != "zstd(level=1)" {
		t.Errorf("%+v", b.Results)
	}
}

// The text marks the defaults, and warns that generated pages have no meaning for a machine.
func TestCodecText(t *testing.T) {
	o := options(t, "lz4", codec.Algorithms()[0])
	o.Length = time.Millisecond
	b, err := Codec(sample.Generate(100), o)
	if err != nil {
		t.Fatal(err)
	}
	text := b.Text()
	for _, want := range []string{
		"100 pages of generated memory, 0 pages left out", "instruction sets: " + strings.Join(codec.InstructionSets().Usable, ", "), "ALGORITHM",
		"IMPLEMENTATION", "\nmemcpy ", o.Algorithms[0].Variants()[0].Set + " (selected)", "\n" + codec.Algorithms()[0] + " (selected) ", "Use --pid or --file",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The text names the sets that are switched off.
func TestInstructionSetsText(t *testing.T) {
	for want, s := range map[string]InstructionSets{
		"avx2, generic": {Detected: []string{"avx2", "generic"}, Usable: []string{"avx2", "generic"}},
		"generic; switched off by ZRAMFS_DISABLE: avx512, avx2": {Detected: []string{"avx512", "avx2", "generic"}, Usable: []string{"generic"}},
	} {
		if got := s.text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A sample of same-filled pages leaves nothing to measure.
func TestNothingToMeasure(t *testing.T) {
	zeros := sample.Sample{Pages: make([]byte, 10*pageSize)}
	_, err := Codec(zeros, options(t, "lz4"))
	if err == nil || !strings.Contains(err.Error(), "every page is one repeated word") {
		t.Error(err)
	}
}

// newRun makes a run over generated pages for some algorithms.
func newRun(t *testing.T, names ...string) *codecRun {
	t.Helper()
	variants, err := variantsOf(options(t, names...).Algorithms)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newCodecRun(sample.Generate(2*turnPages), variants)
	if err != nil {
		t.Fatal(err)
	}
	r.start = time.Now()
	return r
}

// A round is one turn of each contestant with the same pages, and each page is in one turn.
func TestCodecRounds(t *testing.T) {
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

// A codec whose pages do not come back as they were ends the measurement.
func TestCodecNoticesAWrongPage(t *testing.T) {
	r := newRun(t, "lz4:simd=generic")
	r.contestants[1].compressor = broken{r.contestants[1].compressor}
	if err := r.round(); err == nil {
		t.Error("not noticed")
	}
}

// Beyond maxTimes, later times replace the oldest.
func TestCodecKeepsTheLastTimes(t *testing.T) {
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
