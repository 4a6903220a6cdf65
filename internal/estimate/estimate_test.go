// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/memproc"
	"github.com/zramfs/zramfs/internal/sample"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/zswap"
	"github.com/zramfs/zramfs/store"
)

// The estimate equals the memory that a store takes for the same pages.
func TestEstimateIsWhatTheStoreTakes(t *testing.T) {
	s := sample.Generate(2048)
	s.Pages = append(s.Pages, memproc.Pages(600)...)
	s.Total = int64(s.Count())
	for _, name := range []string{"lz4", "raw"} {
		a, err := codec.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		e, err := New(s, []codec.Algorithm{a}, 0, term.NewSteps(io.Discard, "", 0))
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

// The text for known figures.
func TestEstimateText(t *testing.T) {
	adaptive := Algorithm{Algorithm: codec.Algorithms()[0], Ratio: 2.951, Low: 2.81, High: 3.08,
		Takes: 3_900 << 20, Saves: 7_568 << 20, Incompressible: 0.021}
	lz4 := Algorithm{Algorithm: "zstd(level=1)", Ratio: 1.2, Low: 1.19, High: 1.21,
		Takes: 9_500 << 20, Saves: 1_968 << 20, Incompressible: 0.6}
	all := Sample{Source: "all processes", Processes: 214, Pages: 16384, Bytes: 64 << 20, Total: 11_468 << 20, Swapped: 300 << 20,
		LeftOut: sample.LeftOut{Denied: 3, Gone: 1, Late: 2}, SameFilled: 0.041}
	one := Sample{Source: "process 42", Processes: 1, Pages: 10, Bytes: 10 * pageSize, Total: 10 * pageSize}
	file := Sample{Source: "model.gguf", Pages: 16384, Bytes: 64 << 20, Total: 40 << 30, SameFilled: 1}
	for name, e := range map[string]*Report{
		"all":  {Sample: all, Algorithms: []Algorithm{adaptive, lz4}, Advice: advise(adaptive, 1450, all, 12<<30)},
		"one":  {Sample: one, Algorithms: []Algorithm{adaptive}, Advice: advise(adaptive, 1450, one, 16<<30)},
		"file": {Sample: file, Algorithms: []Algorithm{lz4}, Advice: advise(lz4, 3500, file, 16<<30)},
	} {
		want, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if got := e.Text(); err != nil || got != string(want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

// The names in the JSON are what programs read.
func TestEstimateJSON(t *testing.T) {
	text, err := json.Marshal(Report{Algorithms: []Algorithm{{}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"sample":{"source":"","processes":0,"pages":0,"bytes":0,"total_bytes":0,"swapped_bytes":0,` +
		`"left_out_processes":{"not_permitted":0,"ended":0,"not_reached":0},"same_filled":0},` +
		`"algorithms":[{"algorithm":"","ratio":0,"ratio_low":0,"ratio_high":0,"takes_bytes":0,"saves_bytes":0,"incompressible":0}],` +
		`"advice":{"algorithm":"","size":0,"expected":0,"mem_limit":0,"unlimited":0,"bounded_by_ram":false,"poor":false,"command":"","with_zswap":{"in_zswap":0,"zswap":0,"store":0},"bare":{"class":"","size":0,"expected":0,"worst":0}}}`
	if string(text) != want {
		t.Errorf("%s\nwant %s", text, want)
	}
}

// up accepts every advice, everything fits, and the sizes are in order.
func TestAdviceCanBeFollowed(t *testing.T) {
	const ram = 16 << 30
	for _, total := range []int64{1, pageSize, 50 << 20, 1 << 30, 11_111_111_111, 100 << 30, 1 << 50} {
		for _, ratio := range []float64{0.99, 1.3, 2, 3.3, 40, 500} {
			a := advise(Algorithm{Algorithm: "lz4", Ratio: ratio, Low: ratio * 0.95, High: ratio * 1.05}, 60+pageSize/ratio, Sample{Total: total}, ram)
			words := strings.Fields(a.Command)
			size, err := term.ParseBytes(words[3], 0)
			limit, limitErr := term.ParseBytes(words[5], 0)
			if err != nil || limitErr != nil || size != a.Size || limit != a.MemLimit {
				t.Errorf("%s: %v, %v; want %d and %d", a.Command, err, limitErr, a.Size, a.MemLimit)
			}
			if a.Expected > a.MemLimit || a.MemLimit > a.Unlimited+1<<20 || a.MemLimit > ram/2 || a.MemLimit < 1<<20 {
				t.Errorf("%d bytes at %.2f: %+v", total, ratio, a)
			}
			if !a.Bounded && int64(a.Size) < total {
				t.Errorf("%d bytes at %.2f do not fit: %+v", total, ratio, a)
			}
			if tiers := a.Tiers; tiers.Zswap > ram*zswap.DefaultShare/100 || tiers.InZswap > a.Size || tiers.InZswap < a.Size && tiers.Store == 0 || tiers.Store > a.Expected {
				t.Errorf("%d bytes at %.2f: with zswap %+v of %+v", total, ratio, tiers, a)
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
		population[i] = PageCost(int(4096 * math.Pow(float64(i)/5000, 3)))
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
