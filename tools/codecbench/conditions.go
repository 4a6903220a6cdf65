// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/pages"
)

// mixedPages is the number of pages of the mixture.
const mixedPages = 3 * 1024

// mixedSample returns a mixture of text, binaries and zeros, a third of each: generated text, the
// file of this program, and zeros, which are left in here.
func mixedSample() (sample, error) {
	s := sample{name: "a mixture of text, binary and zeros"}
	program, err := os.Executable()
	if err != nil {
		return s, fmt.Errorf("find a binary: %w", err)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		return s, fmt.Errorf("read a binary: %w", err)
	}
	text, zero := pages.Generate(pages.Text, mixedPages/3, 1), make([]byte, codec.PageSize)
	for i, page := range text {
		at := i * codec.PageSize % (len(binary) - codec.PageSize) / codec.PageSize * codec.PageSize
		s.pages = append(s.pages, page, bytes.Clone(binary[at:at+codec.PageSize]), zero)
	}
	return s, nil
}

// selected returns liblz4 and of each of our algorithms the implementation that is taken.
func selected(all []*contestant) []*contestant {
	chosen := []*contestant{all[0]}
	seen := map[string]bool{}
	for _, c := range all[1:] {
		base, _, _ := strings.Cut(c.name, ":simd=")
		if c.ours && c.packOne != nil && !seen[base] {
			seen[base] = true
			chosen = append(chosen, c)
		}
	}
	return chosen
}

const (
	coldRounds = 41
	coldPages  = 64       // few enough that the second run finds all of it in the processor's second cache
	elsewhere  = 96 << 20 // bytes to write so that nothing of the pages is left in a cache
)

// caches judges the claims on caches: the first run over pages that are in no cache, against the
// second.
func caches(s sample, all []*contestant) ([]finding, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b, other := newBatch(coldPages), make([]byte, elsewhere)
	var found []finding
	for _, c := range all {
		var ratios []float64
		for round := range coldRounds {
			b.load(s.pages, round*31, max(1, len(s.pages)/coldPages/codec.ClusterPages))
			for i := 0; i < len(other); i += 64 {
				other[i]++
			}
			first, err := timed(func() error { return c.pack(b) })
			if err != nil {
				return nil, err
			}
			second, err := timed(func() error { return c.pack(b) })
			if err != nil {
				return nil, err
			}
			ratios = append(ratios, first.Seconds()/second.Seconds())
		}
		ratio := median(ratios)
		text := fmt.Sprintf("the first run takes %.2f of the second's time", ratio)
		found = append(found, finding{"F061", c.name + " is faster with warm caches", text, state(ratio > 1)},
			finding{"F062", c.name + " takes at most twice as long with cold ones", text, state(ratio <= 2)})
	}
	return found, nil
}

const (
	scalingRounds = 3
	scalingTime   = 400 * time.Millisecond
)

// scaling judges the claim on scaling: eight threads do six times the work of one; on fewer
// processors as many threads do nine tenths of their number.
func scaling(s sample, all []*contestant) ([]finding, error) {
	threads := min(8, runtime.NumCPU())
	want := 0.9 * float64(threads)
	if threads == 8 {
		want = 6
	}
	claim := fmt.Sprintf("%d threads compress at least %.1f times as much as one", threads, want)
	if threads == 1 {
		return []finding{{"F063", claim, "there is one processor", open}}, nil
	}
	var found []finding
	for _, c := range all {
		var walls, owns []float64
		for range scalingRounds {
			one, oneOwn, err := together(s, c.name, 1)
			if err != nil {
				return nil, err
			}
			many, manyOwn, err := together(s, c.name, threads)
			if err != nil {
				return nil, err
			}
			walls, owns = append(walls, many/one), append(owns, manyOwn/oneOwn)
		}
		x, own := median(walls), median(owns)
		verdict := state(x >= want)
		if x < want && own >= want {
			verdict = open // other programs had the processors
		}
		found = append(found, finding{"F063", c.name + ": " + claim,
			fmt.Sprintf("%.2f, and %.2f by processor time, which leaves out what others ran meanwhile", x, own), verdict})
	}
	return found, nil
}

// together lets threads compress for a while, each with its own state and pages, and returns their
// pages a second: of time that went by, and, added up, of each one's processor time.
func together(s sample, name string, threads int) (wall, own float64, err error) {
	rates, counts, errs := make([]float64, threads), make([]int, threads), make([]error, threads)
	var wg sync.WaitGroup
	start := time.Now()
	for i := range threads {
		wg.Go(func() { counts[i], rates[i], errs[i] = alone(s, name, i, start.Add(scalingTime)) })
	}
	wg.Wait()
	passed := time.Since(start).Seconds()
	for i := range threads {
		wall, own = wall+float64(counts[i])/passed, own+rates[i]
	}
	return wall, own, errors.Join(errs...)
}

// alone compresses until end, and returns how many pages, and how many a second of processor time.
func alone(s sample, name string, seed int, end time.Time) (count int, rate float64, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := anchor()
	if name != anchorName {
		algorithm, err := codec.Parse(name)
		if err != nil {
			return 0, 0, err
		}
		if c, err = own(algorithm); err != nil {
			return 0, 0, err
		}
	}
	b := newBatch(roundPages)
	b.load(s.pages, seed, max(1, len(s.pages)/roundPages))
	took, err := timed(func() error {
		for ; err == nil && time.Now().Before(end); count += b.n {
			err = c.pack(b)
		}
		return err
	})
	return count, float64(count) / took.Seconds(), err
}
