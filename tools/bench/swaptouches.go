// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strings"
)

// The workloads that are not the path of a trace.
const (
	workUniform = "uniform"
	workZipf    = "zipf"
)

// A touch is an access to a page of the load.
type touch struct {
	page  int32
	write bool
}

// touchesOf returns count touches of a workload on a number of pages, fewer if a trace has no more.
func touchesOf(workload string, pages, count int, seed uint64) ([]touch, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	switch workload {
	case workUniform:
		all := make([]touch, count)
		for i := range all {
			all[i].page = int32(rng.IntN(pages))
		}
		return all, nil
	case workZipf:
		return zipf(rng, pages, count), nil
	}
	trace, err := readTrace(workload)
	if err != nil {
		return nil, fmt.Errorf("read trace %s: %w", workload, err)
	}
	all, err := trace.replay(pages)
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w", workload, err)
	}
	return all[:min(count, len(all))], nil
}

// The pages of zipf, ordered by how often they are touched, move on by one of zipfParts, zipfMoves
// times in a run: the hottest become the coldest.
const (
	zipfExponent = 0.99
	zipfMoves    = 10
	zipfParts    = 20
)

// zipf touches the nth page n to the power of -zipfExponent as often as the first. (rand.Zipf has
// exponents above 1 only.) The order of the pages is random.
func zipf(rng *rand.Rand, pages, count int) []touch {
	order, below := rng.Perm(pages), make([]float64, pages)
	sum := 0.0
	for i := range below {
		sum += math.Pow(float64(i+1), -zipfExponent)
		below[i] = sum
	}
	all := make([]touch, count)
	for i := range all {
		rank := min(sort.SearchFloat64s(below, sum*rng.Float64()), pages-1)
		moved := i * zipfMoves / count * pages / zipfParts
		all[i].page = int32(order[(rank+moved)%pages])
	}
	return all
}

// neighbours is how many pages a trace keeps together: it has all of them, or none.
const neighbours = 8

// A trace is what a device of swap was asked for, in order: a touch for each page that was written
// or read.
type trace []touch

var errTrace = errors.New("the trace does not fit")

// readTrace reads a file of tools/agetrace. Pages that were discarded are left out.
func readTrace(name string) (all trace, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	page := int32(0)
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var seconds, further, pages int32
		var kind byte
		if _, err := fmt.Sscanf(lines.Text(), "%d %c %d %d", &seconds, &kind, &further, &pages); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		if page += further; page < 0 {
			return nil, fmt.Errorf("%q: %w", lines.Text(), errTrace)
		}
		for i := range pages {
			if kind == 'w' || kind == 'r' {
				all = append(all, touch{page + i, kind == 'w'})
			}
		}
	}
	return all, lines.Err()
}

// replay returns the trace on a number of pages. The pages of the device that the trace has are the
// first pages of the load, without gaps. Copies of the trace fill the rest. Each copy begins at
// another point of it, so that the first touches are a sample of all of it.
func (t trace) replay(pages int) (all []touch, err error) {
	places := map[int32]int{} // of groups of neighbours
	for _, one := range t {
		places[one.page/neighbours] = 0
	}
	for i, group := range slices.Sorted(maps.Keys(places)) {
		places[group] = i * neighbours
	}
	size := len(places) * neighbours
	if size == 0 || size > pages {
		return nil, fmt.Errorf("%w: it has %d pages, the load %d; give another -limit", errTrace, size, pages)
	}
	copies := (pages + size - 1) / size // of the last, the pages that there are
	for i := range t {
		for c := range copies {
			one := t[(i+c*len(t)/copies)%len(t)]
			at := c*size + places[one.page/neighbours] + int(one.page%neighbours)
			if at < pages {
				all = append(all, touch{int32(at), one.write})
			}
		}
	}
	return all, nil
}
