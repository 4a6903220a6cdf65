// SPDX-License-Identifier: Apache-2.0

// Package estimate says what compressed swap would save: it compresses a sample of pages by each
// algorithm, and advises a device for all the memory that the sample stands for.
package estimate

import (
	"fmt"
	"math"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/sample"
	"github.com/zramfs/zramfs/internal/term"
)

const pageSize = 4096 // bytes

// The cost of a page in the store in addition to its object, in bytes.
// TestEstimateIsWhatTheStoreTakes compares it with a real store.
const (
	indexCost   = 8  // its entry in the index
	headerCost  = 12 // before its object
	objectAlign = 8
)

// A Report is the result of an estimate; its JSON is what estimate --json prints.
type Report struct {
	Sample     Sample      `json:"sample"`     // what was sampled
	Algorithms []Algorithm `json:"algorithms"` // the estimate for each algorithm
	Advice     Advice      `json:"advice"`     // the suggested device
}

// Sample describes what was compressed. Shares are from 0 to 1.
type Sample struct {
	Source     string         `json:"source"`             // where the pages come from
	Processes  int            `json:"processes"`          // 0 for a file
	Pages      int            `json:"pages"`              // in the sample
	Bytes      int64          `json:"bytes"`              // of the sample
	Total      int64          `json:"total_bytes"`        // memory that the sample stands for
	Swapped    int64          `json:"swapped_bytes"`      // of those processes, not sampled
	LeftOut    sample.LeftOut `json:"left_out_processes"` // processes that were not sampled
	SameFilled float64        `json:"same_filled"`        // share of pages, 0 to 1
}

// Algorithm is one algorithm's result, for all the memory that the sample stands for.
type Algorithm struct {
	Algorithm      string  `json:"algorithm"`      // its name
	Ratio          float64 `json:"ratio"`          // data for each byte of memory
	Low            float64 `json:"ratio_low"`      // of the interval of 95 % confidence
	High           float64 `json:"ratio_high"`     // upper bound of that interval
	Takes          int64   `json:"takes_bytes"`    // memory that the device would take
	Saves          int64   `json:"saves_bytes"`    // memory that it would save
	Incompressible float64 `json:"incompressible"` // share of pages, 0 to 1
}

// New compresses the sample by every algorithm, and shows its progress. The advice, for a machine
// with ram bytes of memory, is for the first algorithm. A ram of 0 bounds nothing.
func New(s sample.Sample, algorithms []codec.Algorithm, ram uint64, show term.Steps) (*Report, error) {
	e := &Report{Sample: Sample{
		Source: s.Source, Processes: s.Looked, Pages: s.Count(), Bytes: int64(len(s.Pages)),
		Total: s.Total * pageSize, Swapped: s.Swapped, LeftOut: s.Left,
	}}
	other, same := sample.WithoutSameFilled(s.Pages)
	e.Sample.SameFilled = float64(same) / float64(s.Count())
	for _, a := range algorithms {
		r, err := measureRatio(a, other, same, s.Total)
		if err != nil {
			return nil, err
		}
		e.Algorithms = append(e.Algorithms, r)
		if err := show.Add(uint64(s.Count())); err != nil {
			return nil, err
		}
	}
	lz4, err := codec.Parse("lz4") // zswap's first choice
	if err != nil {
		return nil, err
	}
	hot, err := measureRatio(lz4, other, same, s.Total)
	if err != nil {
		return nil, err
	}
	e.Advice = advise(e.Algorithms[0], pageSize/hot.Ratio-indexCost-headerCost+host.ZswapEntry, e.Sample, ram)
	return e, show.End()
}

// measureRatio compresses the pages of a sample, counts its same-filled ones, and scales the result
// to total.
func measureRatio(a codec.Algorithm, pages [][]byte, same int, total int64) (Algorithm, error) {
	r := Algorithm{Algorithm: a.String()}
	compressor, err := a.NewCompressor()
	if err != nil {
		return r, err
	}
	var costs moments
	var raw int
	costs.add(indexCost, same)
	dst := make([]byte, pageSize)
	for _, page := range pages {
		id, n, err := compressor.Compress(dst, page)
		if err != nil {
			return r, fmt.Errorf("%s: %w", a, err)
		}
		if id == codec.Raw {
			raw++
		}
		costs.add(PageCost(n), 1)
	}
	mean, margin := costs.mean(), costs.margin(total)
	r.Ratio = pageSize / mean
	r.Low = pageSize / (mean + margin)
	// No page costs less than its index entry, so the ratio has a bound even for a small sample.
	r.High = pageSize / max(mean-margin, indexCost)
	r.Takes = int64(math.Ceil(mean * float64(total)))
	r.Saves = max(total*pageSize-r.Takes, 0)
	r.Incompressible = float64(raw) / float64(same+len(pages))
	return r, nil
}

// PageCost returns the memory in bytes that a store takes for a page with an object of n bytes.
func PageCost(n int) float64 {
	return float64(indexCost + (headerCost+n+objectAlign-1)/objectAlign*objectAlign)
}

// moments is the number, the sum and the sum of squares of values.
type moments struct{ n, sum, squares float64 }

// add adds x, times over.
func (m *moments) add(x float64, times int) {
	m.n += float64(times)
	m.sum += x * float64(times)
	m.squares += x * x * float64(times)
}

func (m moments) mean() float64 { return m.sum / m.n }

// margin is half of the 95 % confidence interval of the mean of all total values, from n of them.
// They are evenly spaced, which is at least as good as a random choice if neighbours are alike.
// With n equal to total it is 0.
func (m moments) margin(total int64) float64 {
	unseen := 1 - m.n/float64(total)
	if unseen <= 0 {
		return 0
	}
	if m.n < 2 {
		return m.mean() // one page says nothing about the others
	}
	variance := max(m.squares-m.sum*m.sum/m.n, 0) / (m.n - 1)
	return studentT(m.n-1) * math.Sqrt(variance/m.n*unseen)
}

// studentT is the 0.975 quantile of Student's distribution, by its expansion around the normal one
// (Abramowitz and Stegun 26.7.5). It is within 1 % from 3 degrees of freedom on, and only roughly
// right below.
func studentT(freedom float64) float64 {
	const z = 1.959964
	z3, z5, z7 := z*z*z, z*z*z*z*z, z*z*z*z*z*z*z
	return z + (z3+z)/(4*freedom) + (5*z5+16*z3+3*z)/(96*freedom*freedom) +
		(3*z7+19*z5+17*z3-15*z)/(384*freedom*freedom*freedom)
}
