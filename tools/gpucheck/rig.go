// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zramfs/zramfs/gpu/driver"
)

// sizes are the amounts of work in each step.
type sizes struct {
	kernelPages, bufferPages int           // of the step kernels: in all, and at a time
	bulkPages                int           // of the step bulk
	ringPages                int           // of the step ring
	rounds                   int           // whose best counts
	tries                    int           // of a batch when looking for the crossover
	linkBytes                int           // of one copy
	linkCopies               int           // of them in a row
	launches                 int           // whose cost is averaged
	threadLaunches           int           // of each of four threads
	leakBatches              int           // of the step batches
	largest                  int           // pages of the largest batch that is tried, memory allowing
	cacheBatch               int           // pages of a batch as large as the device's cache; 0: ask the device
	blocks                   int           // of a launch of an address case
	allocations              int           // of the pool
	energy                   time.Duration // for which power is measured
}

// full returns the sizes for a real device.
func full() sizes {
	return sizes{
		kernelPages: 1 << 20, bufferPages: 1 << 16, bulkPages: 2_500_000, ringPages: 500_000, rounds: 2, tries: 5, linkBytes: 512 << 20, linkCopies: 8,
		launches: 20_000, threadLaunches: 1000, leakBatches: 100_000, largest: 1 << 24, blocks: 4096, allocations: 10_000, energy: 6 * time.Second,
	}
}

// small returns the sizes for a simulated device.
func small() sizes {
	return sizes{
		kernelPages: 24, bufferPages: 12, bulkPages: 288, ringPages: 96, rounds: 1, tries: 1, linkBytes: 1 << 18, linkCopies: 2,
		launches: 20, threadLaunches: 10, leakBatches: 10, largest: 40, cacheBatch: 20, blocks: 5, allocations: 500, energy: 10 * time.Millisecond,
	}
}

// A step is one group of measurements.
type step struct {
	name    string
	seconds int // check.sh kills it after these
	about   string
	do      func(*rig) error
}

// steps returns all steps, the most important first, since time may run out for the last ones.
func steps() []step {
	return []step{
		{"load", 40, "H1 F048 F050: the driver translates every kernel", (*rig).load},
		{"addresses", 40, "H2: the fifteen cases of address arithmetic", (*rig).addresses},
		{"link", 60, "bandwidths to the device and back, and of kernels in the host's memory", (*rig).link},
		{"kernels", 100, "F036: each kernel on 1 M pages in the device's memory, against the CPU", (*rig).kernels},
		{"bulk", 200, "G.115-G.120: CPU, each data path, and CPU and GPU together, host to host; the crossover", (*rig).bulk},
		{"ring", 60, "how many slots of how many pages are the fastest", (*rig).ring},
		{"calls", 60, "H3 H4 H8 H10 H12 H13 F043: copies, launches, streams, threads, the pool", (*rig).calls},
		{"batches", 60, "F037 F038 F039 F040 G.108-G.110: batches of all sizes, and 100,000 small ones", (*rig).batches},
		{"energy", 40, "the power of the device at work", (*rig).energyStep},
		{"errors", 40, "H9: the driver reports errors", (*rig).errors},
		{"small", 60, "a small batch of everything, for compute-sanitizer", (*rig).small},
	}
}

// A rig is what steps work with: device, sizes and output.
type rig struct {
	sizes

	ctx    context.Context //nolint:containedctx // of the program
	device int
	find   func() (*driver.Driver, error)
	source source
	loop   string // the program of testdata/loop.c, or empty
	// simulated means little data and meaningless figures.
	simulated bool
	meter     func(ctx context.Context, pci string, d time.Duration) (watts float64, err error)
	out       io.Writer
	step      string
	err       error // of printing
}

// play runs a step and reports how it ended.
func (r *rig) play(s step) error {
	r.step = s.name
	start := time.Now()
	err := errors.Join(s.do(r), r.ctx.Err())
	end := finding{What: "the step", Value: time.Since(start).Seconds(), Unit: "s", Text: "done"}
	if err != nil {
		err = fmt.Errorf("%s: %w", s.name, err)
		end.Text, end.Error = "FAILED", err.Error()
	}
	r.tell(end)
	return errors.Join(err, r.err)
}

// A finding is one result of a step.
type finding struct {
	Step      string  `json:"step"`
	Criterion string  `json:"criterion,omitempty"`
	What      string  `json:"what"`
	Value     float64 `json:"value"`
	Unit      string  `json:"unit,omitempty"`
	Text      string  `json:"text,omitempty"`
	Want      string  `json:"want,omitempty"`
	Met       *bool   `json:"met,omitempty"` // whether Want was reached
	Error     string  `json:"error,omitempty"`
}

func (r *rig) tell(f finding) {
	f.Step = r.step
	line, err := json.Marshal(f)
	if err == nil {
		_, err = fmt.Fprintf(r.out, "%s\n", line)
	}
	r.err = errors.Join(r.err, err)
}

// figure reports a measured number.
func (r *rig) figure(what string, value float64, unit string) {
	r.tell(finding{What: what, Value: value, Unit: unit})
}

// least reports a number with a lower bound, most one with an upper bound.
func (r *rig) least(criterion, what string, value float64, unit string, want float64) {
	met := value >= want
	r.tell(finding{Criterion: criterion, What: what, Value: value, Unit: unit, Want: fmt.Sprintf("at least %.4g", want), Met: &met})
}

func (r *rig) most(criterion, what string, value float64, unit string, want float64) {
	met := value <= want
	r.tell(finding{Criterion: criterion, What: what, Value: value, Unit: unit, Want: fmt.Sprintf("at most %.4g", want), Met: &met})
}

// proved reports that a result is right; a wrong one is an error of the step.
func (r *rig) proved(criterion, what, text string) {
	met := true
	r.tell(finding{Criterion: criterion, What: what, Text: text, Met: &met})
}

// speed returns GB/s.
func speed(bytes int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(bytes) / d.Seconds() / 1e9
}
