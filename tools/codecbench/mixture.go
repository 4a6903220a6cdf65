// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/codec"
)

const (
	mixRounds = 5
	mixRun    = 32 // pages of one program that stay together where programs take turns
)

// errNotAdjustable reports that adaptive cannot be told how much time it has.
var errNotAdjustable = errors.New("adaptive is not adjustable")

// A pageCost is what the two codecs that adaptive chooses between make of one page: bytes, and
// nanoseconds without the clock's.
type pageCost struct {
	bytes [2]int
	ns    [2]float64
}

// A mixture is what adaptive did at one level, and what others do in the same time.
type mixture struct {
	share       float64 // of the pages that went to the denser codec
	time        float64 // of compression, over that of the faster codec for all pages
	stored      float64 // bytes a page
	mix, oracle float64 // bytes a page of the random mix, and of the best choice of pages
}

// gained returns the bytes saved over the random mix as parts of it: by adaptive, and by the
// oracle.
func (m mixture) gained() (own, most float64) {
	return (m.mix - m.stored) / m.mix, (m.mix - m.oracle) / m.mix
}

// mixtures judges the claims on adaptive on the pages of s: program after program, and with the
// programs taking turns, as on a busy machine.
func mixtures(s sample) ([]finding, error) {
	var found []finding
	for _, data := range []sample{{name: "program after program", pages: s.pages}, {name: "programs in turns", pages: inTurns(s.pages)}} {
		all, err := mixturesOf(data.pages)
		if err != nil {
			return nil, err
		}
		found = append(found, judgeMixtures(data.name, all)...)
	}
	return found, nil
}

// judgeMixtures judges every level.
func judgeMixtures(name string, all []mixture) []finding {
	var gains, parts []string
	beats, half := true, true
	for _, m := range all {
		own, most := m.gained()
		gains = append(gains, fmt.Sprintf("%.0f%% of the pages, %.2f of page's time: %+.2f%%", 100*m.share, m.time, -100*own))
		parts = append(parts, fmt.Sprintf("%.0f%% of %.2f%%", 100*own/most, 100*most))
		beats, half = beats && own > 0, half && own >= most/2
	}
	return []finding{
		{"F057", "adaptive stores less than each random mix of page and page:dense that takes as long, " + name, strings.Join(gains, "; "), state(beats)},
		{"F057", "it saves half of what an oracle would, " + name, strings.Join(parts, "; "), state(half)},
	}
}

// inTurns cuts pages into short runs and shuffles those.
func inTurns(all [][]byte) [][]byte {
	runs := slices.Collect(slices.Chunk(all, mixRun))
	rand.New(rand.NewPCG(5, 7)).Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	return slices.Concat(runs...)
}

// mixturesOf measures every level between the ends.
func mixturesOf(all [][]byte) ([]mixture, error) {
	costs, err := costsOf(all)
	if err != nil {
		return nil, err
	}
	// For each level the position of its time between the first one's and the last one's, and the
	// last one's time over the first one's.
	var ways [codec.MaxEffort + 1][]float64
	var slowest []float64
	var result []mixture
	for range mixRounds {
		var took [codec.MaxEffort + 1]float64
		if result, err = pass(all, &took); err != nil {
			return nil, err
		}
		for level := range took {
			ways[level] = append(ways[level], (took[level]-took[0])/(took[codec.MaxEffort]-took[0]))
		}
		slowest = append(slowest, took[codec.MaxEffort]/took[0])
	}
	first, last := result[0].stored, result[codec.MaxEffort].stored
	for level := range result {
		m, way := &result[level], median(ways[level])
		m.time = 1 + way*(median(slowest)-1)
		m.mix, m.oracle = first+way*(last-first), first-oracle(costs, way)
	}
	return result[1:codec.MaxEffort], nil
}

// pass sends all pages through the codecs alone, which stand for the first and the last level, and
// through adaptive at the levels between, in turns of a batch each. It adds up the seconds that
// each takes, and returns what it makes of the pages. The compressors are new: what adaptive knows
// of the pages it has learnt in this pass.
func pass(all [][]byte, took *[codec.MaxEffort + 1]float64) ([]mixture, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	compressors, err := levels()
	if err != nil {
		return nil, err
	}
	parts := make([]mixture, len(compressors))
	for chunk := range slices.Chunk(all, roundPages) {
		for level, c := range compressors {
			t, err := timed(func() error { return parts[level].add(c, chunk) })
			if err != nil {
				return nil, err
			}
			took[level] += t.Seconds()
		}
	}
	for level := range parts {
		parts[level].stored /= float64(len(all))
		parts[level].share /= float64(len(all))
	}
	return parts, nil
}

// add counts the bytes of some pages' objects, and the dense ones.
func (m *mixture) add(c codec.Compressor, all [][]byte) error {
	var object [codec.PageSize]byte
	for _, page := range all {
		id, n, err := c.Compress(object[:], page)
		if err != nil {
			return err
		}
		if m.stored += float64(n); id == codec.PageDense {
			m.share++
		}
	}
	return nil
}

// levels returns a compressor for each level: those of the ends are the codecs alone, which do not
// scan.
func levels() ([]codec.Compressor, error) {
	var all []codec.Compressor
	for level := range codec.MaxEffort + 1 {
		name := "adaptive"
		switch level {
		case 0:
			name = "page"
		case codec.MaxEffort:
			name = "page:dense"
		}
		c, err := compressorOf(name)
		if err != nil {
			return nil, err
		}
		if name == "adaptive" {
			a, ok := c.(codec.Adjustable)
			if !ok {
				return nil, errNotAdjustable
			}
			a.SetEffort(level)
		}
		all = append(all, c)
	}
	return all, nil
}

func compressorOf(name string) (codec.Compressor, error) {
	a, err := codec.Parse(name)
	if err != nil {
		return nil, err
	}
	return a.NewCompressor()
}

// costsOf measures every page alone by both codecs, and takes the middle of several times.
func costsOf(all [][]byte) ([]pageCost, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	costs := make([]pageCost, len(all))
	for i, name := range []string{"page", "page:dense"} {
		c, err := compressorOf(name)
		if err != nil {
			return nil, err
		}
		var rounds [mixRounds][]int64
		for r := range rounds {
			rounds[r] = make([]int64, len(all))
			if err := stopwatch(rounds[r], func(at int) error { return costs[at].measure(c, i, all[at]) }); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			less(rounds[r], clockCost())
		}
		for at := range costs {
			var some []float64
			for _, round := range rounds {
				some = append(some, float64(round[at]))
			}
			costs[at].ns[i] = median(some)
		}
	}
	return costs, nil
}

// measure notes the bytes of codec i.
func (p *pageCost) measure(c codec.Compressor, i int, page []byte) error {
	var object [codec.PageSize]byte
	_, n, err := c.Compress(object[:], page)
	p.bytes[i] = n
	return err
}

// oracle returns how many bytes a page are saved over the faster codec with knowledge of all sizes
// and times, in a fraction of the additional time of the denser codec over all pages.
func oracle(costs []pageCost, fraction float64) float64 {
	left := 0.0
	for _, c := range costs {
		left += (c.ns[1] - c.ns[0]) * fraction
	}
	more := func(c pageCost) float64 { return max(c.ns[1]-c.ns[0], 1) }
	sorted := slices.Clone(costs)
	slices.SortFunc(sorted, func(a, b pageCost) int {
		return cmp.Compare(float64(b.bytes[0]-b.bytes[1])/more(b), float64(a.bytes[0]-a.bytes[1])/more(a))
	})
	saved := 0.0
	for _, c := range sorted {
		gain, part := float64(c.bytes[0]-c.bytes[1]), min(1, left/more(c))
		if gain <= 0 || part <= 0 {
			break
		}
		saved, left = saved+gain*part, left-part*more(c)
	}
	return saved / float64(len(costs))
}
