// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/cmd/zramfs/sample"
	"github.com/zramfs/zramfs/internal/held"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// estimateOf runs estimate as a program and reads its JSON.
func estimateOf(t *testing.T, args ...string) estimate {
	t.Helper()
	got := runProgram(t, append([]string{"estimate", "--json"}, args...)...)
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d, stderr %q", got.code, got.stderr)
	}
	var e estimate
	d := json.NewDecoder(strings.NewReader(got.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		t.Fatalf("%v in %s", err, got.stdout)
	}
	return e
}

// A child's memory is a third same-filled, a third incompressible, the rest nearly empty. The share
// of its runtime is unknown.
func TestEstimateOfAProcess(t *testing.T) {
	pid, _ := held.Start(t)
	e := estimateOf(t, "--pid", strconv.Itoa(pid), "--algorithm", "lz4,raw", "--sample", "8M")
	const known = held.Count * pageSize
	if e.Sample.Processes != 1 || e.Sample.Pages > 2048 || e.Sample.Pages < 1024 {
		t.Errorf("%d processes, %d pages", e.Sample.Processes, e.Sample.Pages)
	}
	if e.Sample.Total < known || e.Sample.Total > 2*known {
		t.Fatalf("%d bytes are seen of a process that holds %d", e.Sample.Total, known)
	}
	lz4, raw := e.Algorithms[0], e.Algorithms[1]
	third := float64(known) / 3 / float64(e.Sample.Total)
	unknown := 1 - 3*third
	for what, share := range map[string]float64{"same-filled": e.Sample.SameFilled, "raw by lz4": lz4.Incompressible, "raw less a third": raw.Incompressible - third} {
		if share < third-0.04 || share > third+unknown+0.04 {
			t.Errorf("%.3f of the pages are %s, want %.3f and at most %.3f more", share, what, third, unknown)
		}
	}
	if !(raw.Ratio < lz4.Low && lz4.Low < lz4.Ratio && lz4.Ratio < lz4.High) || lz4.Takes+lz4.Saves != e.Sample.Total {
		t.Errorf("lz4: %+v, raw: %+v, of %d", lz4, raw, e.Sample.Total)
	}
	if e.Advice.Algorithm != "lz4" || !strings.HasSuffix(e.Advice.Command, " --algorithm lz4") {
		t.Errorf("advice: %+v", e.Advice)
	}
}

// A file sampled as a whole has no interval.
func TestEstimateOfAWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages")
	if err := os.WriteFile(path, held.Pages(300), 0o644); err != nil {
		t.Fatal(err)
	}
	e := estimateOf(t, "--file", path)
	if e.Sample.Processes != 0 || e.Sample.Pages != 300 || e.Sample.Total != 300*pageSize || e.Sample.SameFilled != 1.0/3 {
		t.Errorf("sample: %+v", e.Sample)
	}
	if len(e.Algorithms) < 3 || e.Algorithms[0].Algorithm != codec.Algorithms()[0] {
		t.Errorf("%d algorithms, the first %s", len(e.Algorithms), e.Algorithms[0].Algorithm)
	}
	for _, r := range e.Algorithms {
		if r.Algorithm == "raw" || r.Low != r.Ratio || r.High != r.Ratio {
			t.Errorf("%+v: want an interval without width, and not raw", r)
		}
	}
}

// All processes of the machine can be sampled while they run, this test among them.
func TestEstimateOfAll(t *testing.T) {
	held.Start(t)
	e := estimateOf(t, "--all", "--sample", "1M", "--algorithm", "lz4")
	if e.Sample.Processes < 2 || e.Sample.Pages < 100 || e.Sample.Pages > 256 || e.Sample.Total < held.Count*pageSize {
		t.Errorf("sample: %+v", e.Sample)
	}
}

// The estimate equals the memory that a store takes for the same pages.
func TestEstimateIsWhatTheStoreTakes(t *testing.T) {
	s := sample.Generate(2048)
	s.Pages = append(s.Pages, held.Pages(600)...)
	s.Total = int64(s.Count())
	for _, name := range []string{"lz4", "raw"} {
		a, err := codec.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		e, err := newEstimate(s, []codec.Algorithm{a}, 0, term.NewSteps(io.Discard, "", 0))
		if err != nil {
			t.Fatal(err)
		}
		const times = 6 // so that segments which are not full yet count for little
		got := float64(storeTakes(t, a, s.Pages, times))
		if want := float64(e.Algorithms[0].Takes * times); math.Abs(got-want) > want/25 {
			t.Errorf("%s: the store takes %.0f bytes, %.0f were estimated", name, got, want)
		}
	}
}

// storeTakes writes the pages several times to a new store and returns the memory it takes.
func storeTakes(t *testing.T, a codec.Algorithm, pages []byte, times int) uint64 {
	t.Helper()
	mem, err := store.NewMemory(store.MemoryAuto)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	s, err := store.Create(mem, store.Config{Disksize: uint64(len(pages) * times), Algorithm: a})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := s.Stats()
	count := len(pages) / pageSize
	w := s.Acquire()
	defer w.Release()
	for i := range count * times {
		at := i % count * pageSize
		if err := w.Write(uint64(i), 0, pages[at:at+pageSize]); err != nil {
			t.Fatal(err)
		}
	}
	after := s.Stats()
	return (after.MemUsedTotal - after.ReserveBytes) - (before.MemUsedTotal - before.ReserveBytes - before.IndexBytes)
}

func TestEstimateUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--all", "--pid", "1"}, {"--file", "x", "--all"}, {"--pid", "0"}, {"--pid", "-1"}, {"--pid", "x"}, {"--pid", ""}, {"--file", ""},
		{"--pid", "1", "2"}, {"--all", "--algorithm", "gzip"}, {"--all", "--sample", "1K"}, {"--all", "--sample", "5G"}, {"--all", "--sample", "x"},
		{"--banana"},
	} {
		got := runProgram(t, append([]string{"estimate"}, args...)...)
		if got.code != exitUsage || !strings.HasPrefix(got.stderr, "zramfs: ") || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

func TestEstimateOfNoProcess(t *testing.T) {
	pid, end := held.Start(t)
	end()
	got := runProgram(t, "estimate", "--pid", strconv.Itoa(pid))
	if got.code != exitFailure || !strings.Contains(got.stderr, fmt.Sprintf("there is no process %d", pid)) {
		t.Errorf("%+v", got)
	}
}

// The text for known figures.
func TestEstimateText(t *testing.T) {
	adaptive := algorithmReport{Algorithm: codec.Algorithms()[0], Ratio: 2.951, Low: 2.81, High: 3.08,
		Takes: 3_900 << 20, Saves: 7_568 << 20, Incompressible: 0.021}
	lz4 := algorithmReport{Algorithm: "zstd(level=1)", Ratio: 1.2, Low: 1.19, High: 1.21,
		Takes: 9_500 << 20, Saves: 1_968 << 20, Incompressible: 0.6}
	all := sampleReport{Source: "all processes", Processes: 214, Pages: 16384, Bytes: 64 << 20, Total: 11_468 << 20, Swapped: 300 << 20,
		LeftOut: sample.LeftOut{Denied: 3, Gone: 1, Late: 2}, SameFilled: 0.041}
	one := sampleReport{Source: "process 42", Processes: 1, Pages: 10, Bytes: 10 * pageSize, Total: 10 * pageSize}
	file := sampleReport{Source: "model.gguf", Pages: 16384, Bytes: 64 << 20, Total: 40 << 30, SameFilled: 1}
	for name, e := range map[string]*estimate{
		"all":  {Sample: all, Algorithms: []algorithmReport{adaptive, lz4}, Advice: advise(adaptive, all, 64<<30)},
		"one":  {Sample: one, Algorithms: []algorithmReport{adaptive}, Advice: advise(adaptive, one, 16<<30)},
		"file": {Sample: file, Algorithms: []algorithmReport{lz4}, Advice: advise(lz4, file, 16<<30)},
	} {
		compareGolden(t, filepath.Join("estimate", name+".txt"), e.Text())
	}
}

// The names in the JSON are what programs read.
func TestEstimateJSON(t *testing.T) {
	text, err := json.Marshal(estimate{Algorithms: []algorithmReport{{}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"sample":{"source":"","processes":0,"pages":0,"bytes":0,"total_bytes":0,"swapped_bytes":0,` +
		`"left_out_processes":{"not_permitted":0,"ended":0,"not_reached":0},"same_filled":0},` +
		`"algorithms":[{"algorithm":"","ratio":0,"ratio_low":0,"ratio_high":0,"takes_bytes":0,"saves_bytes":0,"incompressible":0}],` +
		`"advice":{"algorithm":"","size":0,"expected":0,"mem_limit":0,"unlimited":0,"bounded_by_ram":false,"poor":false,"command":""}}`
	if string(text) != want {
		t.Errorf("%s\nwant %s", text, want)
	}
}

// up accepts every advice, everything fits, and the sizes are in order.
func TestAdviceCanBeFollowed(t *testing.T) {
	const ram = 16 << 30
	for _, total := range []int64{1, pageSize, 50 << 20, 1 << 30, 11_111_111_111, 100 << 30, 1 << 50} {
		for _, ratio := range []float64{0.99, 1.3, 2, 3.3, 40, 500} {
			a := advise(algorithmReport{Algorithm: "lz4", Ratio: ratio, Low: ratio * 0.95, High: ratio * 1.05}, sampleReport{Total: total}, ram)
			words := strings.Fields(a.Command)
			size, err := parseSize(words[3], 0)
			limit, limitErr := parseLimit(words[5], 0)
			if err != nil || limitErr != nil || size != a.Size || limit != a.MemLimit {
				t.Errorf("%s: %v, %v; want %d and %d", a.Command, err, limitErr, a.Size, a.MemLimit)
			}
			if a.Expected > a.MemLimit || a.MemLimit > a.Unlimited+1<<20 || a.MemLimit > ram/2 || a.MemLimit < 1<<20 {
				t.Errorf("%d bytes at %.2f: %+v", total, ratio, a)
			}
			if !a.Bounded && int64(a.Size) < total {
				t.Errorf("%d bytes at %.2f do not fit: %+v", total, ratio, a)
			}
			if a.Poor != (ratio < 1.5) {
				t.Errorf("ratio %.2f: poor %t", ratio, a.Poor)
			}
		}
	}
}

// The interval holds the true mean as often as it claims. The numbers are drawn with a fixed seed.
func TestIntervalHoldsTheTruth(t *testing.T) {
	population := make([]float64, 5000)
	var truth float64
	for i := range population {
		population[i] = pageCost(int(4096 * math.Pow(float64(i)/5000, 3)))
		truth += population[i] / 5000
	}
	for _, n := range []int{20, 100, 1000} {
		held, rounds := 0, 2000
		seed := uint64(n)
		for range rounds {
			var m moments
			for _, i := range drawn(n, len(population), &seed) {
				m.add(population[i], 1)
			}
			if math.Abs(m.mean()-truth) <= m.margin(5000) {
				held++
			}
		}
		if share := float64(held) / float64(rounds); share < 0.92 || share > 0.975 {
			t.Errorf("samples of %d: the interval holds the truth %.3f of the time", n, share)
		}
	}
}

// drawn returns n different numbers below total.
func drawn(n, total int, seed *uint64) []int {
	seen := map[int]bool{}
	var numbers []int
	for len(numbers) < n {
		*seed = *seed*6364136223846793005 + 1442695040888963407
		if i := int(*seed >> 33 % uint64(total)); !seen[i] {
			seen[i] = true
			numbers = append(numbers, i)
		}
	}
	return numbers
}

func TestMarginAtItsEnds(t *testing.T) {
	var all, one moments
	all.add(1, 10)
	all.add(9, 10)
	if got := all.margin(20); got != 0 {
		t.Errorf("all were seen: %v", got)
	}
	one.add(5, 1)
	if got := one.margin(100); got != 5 {
		t.Errorf("one was seen: %v", got)
	}
	// Tables of the distribution.
	for freedom, want := range map[float64]float64{3: 3.182, 10: 2.228, 30: 2.042, 1e6: 1.960} {
		if got := studentT(freedom); math.Abs(got-want) > want/100 {
			t.Errorf("%v degrees of freedom: %.3f, want %.3f", freedom, got, want)
		}
	}
}

func TestHumanShareOf(t *testing.T) {
	var got []string
	for _, share := range []float64{0, 0.001, 0.041, 0.5, 0.999, 1} {
		got = append(got, term.ShareOf(share))
	}
	if want := []string{"0%", "<1%", "4%", "50%", ">99%", "100%"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
