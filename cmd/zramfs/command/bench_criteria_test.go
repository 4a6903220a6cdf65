// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/imaging"
	"github.com/zramfs/zramfs/cmd/zramfs/sample"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu"
	"github.com/zramfs/zramfs/gpu/driver"
)

// fastReport is of a machine on which every claim holds, if only just.
func fastReport() bulkReport {
	line := func(algorithm string, op bulk.Op, by string, speed, ratio, share float64) bulkResult {
		return bulkResult{Algorithm: algorithm, Operation: op.String(), By: by, Speed: speed, Ratio: ratio, Share: share, Pages: largeBatch, OfMemcpy: 0.5}
	}
	sizes := []bulkSize{{1, 10, 9}, {2, 10, 10}, {3, 10, 11}, {5, 10, 12}}
	return bulkReport{
		Pages: 1000, Batch: largeBatch, Source: "a file", Engines: []string{"gpu0"}, Links: []bulkLink{{Engine: "gpu0", ToDevice: 25, FromDevice: 50}},
		Results: []bulkResult{
			line(anchorName, bulk.Decompress, "cpu", 90000, 1, 0),
			line("lz4", bulk.Compress, "cpu", 6000, 1.88, 0), line("lz4", bulk.Compress, "gpu0", 25000, 1.8, 1), line("lz4", bulk.Compress, "cpu+gpu0", 35000, 1.8, 0.8),
			line("lz4", bulk.Decompress, "cpu", 30000, 1.88, 0), line("lz4", bulk.Decompress, "gpu0", 46000, 1.88, 0.98), line("lz4", bulk.Decompress, "cpu+gpu0", 64500, 1.88, 0.6),
			line("zstd", bulk.Decompress, "cpu", 9000, 3, 0),
		},
		Crossovers: []bulkCrossover{
			{Algorithm: "page", Operation: "decompress", Sizes: []bulkSize{{1, 2, 1}}},
			{Algorithm: "lz4", Operation: "compress", Sizes: sizes}, {Algorithm: "lz4", Operation: "decompress", Sizes: sizes},
		},
	}
}

// verdicts are those of a report in order, in short.
func verdicts(b bulkReport) []string {
	var all []string
	for _, c := range judge(b) {
		all = append(all, c.Criterion+" "+c.Verdict)
	}
	return all
}

// G.115-G.120: what is said of each follows the claim. On a machine where all hold they survive, a
// little less falsifies each, and what was not measured is open.
func TestG115ToG120Verdicts(t *testing.T) {
	claims := []string{"G.115", "G.116", "G.117", "G.117", "G.118", "G.119", "G.120", "hybrid", "hybrid"}
	var allHold []string
	for _, c := range claims {
		allHold = append(allHold, c+" "+survived)
	}
	b := fastReport()
	if got := verdicts(b); !slices.Equal(got, allHold) {
		t.Fatalf("%q", got)
	}
	for name, change := range map[string]struct {
		spoil func(*bulkReport)
		want  map[int]string
	}{
		"a slow stream":       {func(b *bulkReport) { b.Results[5].Share = 0.97 }, map[int]string{0: falsified}},
		"a slow bus":          {func(b *bulkReport) { b.Links[0].FromDevice, b.Results[5].Speed = 12, 14000 }, map[int]string{0: falsified}},
		"two links":           {func(b *bulkReport) { b.Links = append(b.Links, b.Links[0]) }, map[int]string{0: falsified}},
		"no link":             {func(b *bulkReport) { b.Links = nil }, map[int]string{0: open}},
		"a small ratio":       {func(b *bulkReport) { b.Results[2].Ratio, b.Results[1].Ratio = 1.79, 1.8 }, map[int]string{1: falsified}},
		"generated pages":     {func(b *bulkReport) { b.Generated = true }, map[int]string{1: open}},
		"the CPU at 3 GB":     {func(b *bulkReport) { b.Crossovers[1].Sizes = []bulkSize{{1, 1, 2}, {2, 1, 2}, {3, 2, 2}, {5, 1, 2}} }, map[int]string{2: falsified}},
		"the CPU at 5 GB":     {func(b *bulkReport) { b.Crossovers[2].Sizes = []bulkSize{{1, 1, 2}, {2, 1, 2}, {3, 1, 2}, {5, 2, 1}} }, map[int]string{3: falsified}},
		"up to 3 GB":          {func(b *bulkReport) { b.Crossovers[2].Sizes = []bulkSize{{1, 1, 2}, {2, 1, 2}, {3, 1, 2}} }, map[int]string{3: open}},
		"together 34.9 GB/s":  {func(b *bulkReport) { b.Results[3].Speed = 34900 }, map[int]string{4: falsified, 7: falsified}},
		"a small batch":       {func(b *bulkReport) { b.Results[3].Pages-- }, map[int]string{4: open, 7: open}},
		"another small batch": {func(b *bulkReport) { b.Results[5].Pages-- }, map[int]string{0: open}},
		"slow decompression":  {func(b *bulkReport) { b.Results[5].Speed, b.Results[6].Speed, b.Links[0].FromDevice = 20000, 33300, 20 }, map[int]string{5: falsified, 8: falsified}},
		"long objects":        {func(b *bulkReport) { b.Results[1].Ratio = 1.9 }, map[int]string{6: falsified}},
		"the CPU compressed":  {func(b *bulkReport) { b.Results[2].Share = 0.5 }, map[int]string{1: open, 6: open}},
		"a piece that failed": {func(b *bulkReport) { b.faults = []string{"gpu0: it fell off"} }, map[int]string{0: open, 1: open, 2: open, 3: open, 4: open, 6: open, 7: open, 8: open}},
		"zstd alone": {func(b *bulkReport) { b.Results, b.Crossovers, b.Engines = b.Results[7:], nil, nil },
			map[int]string{0: open, 1: open, 2: open, 3: open, 4: open, 5: falsified, 6: open, 7: open, 8: open}},
		"nothing": {func(b *bulkReport) { *b = bulkReport{} }, map[int]string{0: open, 1: open, 2: open, 3: open, 4: open, 5: open, 6: open, 7: open, 8: open}},
	} {
		b := fastReport()
		change.spoil(&b)
		want := slices.Clone(allHold)
		for i, verdict := range change.want {
			want[i] = claims[i] + " " + verdict
		}
		if got := verdicts(b); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		for _, c := range judge(b) {
			if c.Claim == "" || c.Wanted == "" || c.Why == "" || c.Verdict != open && (c.Measured == nil || c.Algorithm == "") {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}

// G.117: the smallest batch from which on an engine is faster is found, and so is who is faster at
// each size, for an engine of which it is known. Where that is for a GPU is a device's figure.
func TestG117CrossoverIsFound(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // so that no machine is too fast for it
	for _, c := range []struct {
		takes    time.Duration
		pages    int // of what stands for a GB here
		verdict  string
		from, to int // where the crossover is
	}{
		{2 * time.Millisecond, 1500, survived, 128, 7500}, // a core compresses some hundred pages meanwhile
		{50 * time.Millisecond, 64, falsified, 0, 0},
	} {
		r, _ := paced(t, &pacer{takes: c.takes}, 5*c.pages, "lz4")
		r.gigabyte = c.pages * pageSize
		if err := r.measure(t.Context(), time.Nanosecond, term.NewSteps(io.Discard, "", 0)); err != nil {
			t.Fatal(err)
		}
		b := r.report(sample.Generate(100))
		if err := r.close(); err != nil {
			t.Error(err)
		}
		x := b.Crossovers[0]
		t.Logf("%+v %s", x, b.crossoverText())
		if found := x.Pages != nil; found != (c.to > 0) || found && (*x.Pages < c.from || *x.Pages > c.to) {
			t.Errorf("%+v: %+v", c, x)
		}
		if len(x.Sizes) != 4 || x.Sizes[3].GB != 5 {
			t.Fatalf("%+v", x)
		}
		if g := b.Criteria[2]; g.Criterion != "G.117" || g.Verdict != c.verdict || g.Algorithm != "lz4" {
			t.Errorf("%+v: %+v", c, g)
		}
		if g := b.Criteria[3]; g.Criterion != "G.117" || g.Verdict != open { // it decompresses nothing
			t.Errorf("%+v", g)
		}
	}
}

// simulated has the program use a simulated GPU.
func simulated(t *testing.T) *driver.Simulator {
	t.Helper()
	s := driver.NewSimulator(driver.SimulatedDevice{})
	withKinds(t, imaging.Kind{Name: "gpu", Open: func(a codec.Algorithm, _ imaging.Options) ([]bulk.Engine, error) {
		d, err := s.Driver()
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		e, err := gpu.Open(d, gpu.Options{Batch: 6, Compress: makesLZ4(a), Driver: driver.Options{Limit: time.Minute}})
		return []bulk.Engine{e}, err
	}})
	return s
}

// G.118, G.119: a GPU's engine, alone and together with the CPU, does what the claims are of, and
// its part is told; the CPU's bulk decompression is told as part of a plain copy. Of the speeds
// only a device's count: these are a simulator's, and the batch is not one of 10 GB.
func TestG118G119OnTheSimulator(t *testing.T) {
	batch, algorithms, want := 96, "lz4,page", 5 // lines of all together: it makes no objects of the page format
	if testing.Short() {
		batch, algorithms, want = 12, "lz4", 3
	}
	device := simulated(t)
	list, err := bulkBenched(algorithms)
	if err != nil {
		t.Fatal(err)
	}
	s := sample.Generate(batch)
	r, err := newBulkRun(s, list, batch, imaging.Options{Kinds: engineKinds, Mode: imaging.Auto})
	if err != nil {
		t.Fatal(err)
	}
	r.show, r.start = term.NewSteps(io.Discard, "", 0), time.Now()
	err = r.engines.measureLinks(t.Context())
	for _, after := range []func(*team, *crew) error{r.check, r.note} {
		if err == nil {
			err = r.round(t.Context(), after)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	b := r.report(s)
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if left := device.Leaks(0); len(left) > 0 {
		t.Errorf("left on the device: %v", left)
	}
	if l := b.Links; len(l) != 1 || l[0].Engine != "gpu0" || !(l[0].ToDevice > 0 && l[0].FromDevice > 0 && l[0].BothWays > 0 && l[0].KernelReads > 0) || len(b.Missing)+len(b.Trouble) > 0 {
		t.Errorf("%+v, %q, %q", l, b.Missing, b.Trouble)
	}
	if _, registers := any((*gpu.Engine)(nil)).(bulk.Registrar); registers != (b.Links[0].Register > 0) {
		t.Errorf("memory is made known at %v GB/s", b.Links[0].Register)
	}
	together := 0
	for _, r := range b.Results {
		switch {
		case r.mode() == bulk.EnginesAlone && (r.Share < 0.5 || !(r.Parts[1].Kernel > 0)):
			t.Errorf("%+v", r)
		case r.mode() == bulk.Shared:
			together++
		}
	}
	if together != want {
		t.Errorf("%d lines of all together", together)
	}
	for _, c := range b.Criteria {
		t.Logf("%+v", c)
		if c.Criterion == "G.117" {
			continue // no crossover was looked for
		}
		if c.Measured == nil || !(*c.Measured > 0) {
			t.Errorf("%+v", c)
		}
		if slices.Contains([]string{"G.115", "G.118"}, c.Criterion) && (c.Verdict != open || !strings.Contains(c.Why, "10 GB")) {
			t.Errorf("%+v", c)
		}
	}
	if c := b.Criteria[5]; c.Criterion != "G.119" || !strings.Contains(c.Why, " of a plain copy") {
		t.Errorf("%+v", c)
	}
	if c := b.Criteria[6]; c.Criterion != "G.120" || c.Verdict != survived {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(b.text(), "\nG.119 ") {
		t.Error(b.text())
	}
}
