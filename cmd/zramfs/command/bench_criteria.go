// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/imaging"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec/bulk"
)

// What may be said of a criterion.
const (
	survived  = "SURVIVED"
	falsified = "FALSIFIED"
	open      = "OPEN"
)

// What is wanted of a machine with a GPU, by the original specification, in GB/s where nothing else
// is said.
const (
	wantedStream   = 14.4 // G.115: and wantedOfLink of what its link copies
	wantedOfLink   = 0.9
	wantedRatio    = 1.8 // G.116
	wantedFrom     = 3   // G.117: GB from which on the GPU is the faster one
	wantedHybrid   = 35  // G.118: 10 GB in 286 ms
	wantedRestore  = 2000.0 / 60
	wantedParity   = 1.05 // G.120: bytes beside those of the CPU
	wantedTogether = 1.4  // beside the faster one alone
	enoughShare    = 0.9  // of pages for what is said to be the engines'
)

// A bulkCriterion is a claim about bulk work, and what was measured of it: of the algorithm that it
// holds best for.
type bulkCriterion struct {
	Criterion string   `json:"criterion"`
	Claim     string   `json:"claim"`
	Algorithm string   `json:"algorithm"` // empty where nothing was measured
	Wanted    string   `json:"wanted"`
	Measured  *float64 `json:"measured"` // null where nothing was
	Unit      string   `json:"unit"`
	Verdict   string   `json:"verdict"` // SURVIVED, FALSIFIED or OPEN
	Why       string   `json:"why"`     // it is open, or else what was measured
}

// judge says what becomes of the claims.
func judge(b bulkReport) []bulkCriterion {
	all := []bulkCriterion{b.streaming(), b.ratio()}
	for _, op := range []bulk.Op{bulk.Compress, bulk.Decompress} {
		all = append(all, b.fasterFrom(op))
	}
	all = append(all, b.hybrid(), b.restore(), b.parity())
	for _, op := range []bulk.Op{bulk.Compress, bulk.Decompress} {
		all = append(all, b.together(op))
	}
	return all
}

// settle says whether what was measured is what was wanted, unless it is open for a reason.
func (c bulkCriterion) settle(met bool, measured float64, reasons ...string) bulkCriterion {
	c.Measured, c.Verdict = &measured, falsified
	if met {
		c.Verdict = survived
	}
	if why := slices.DeleteFunc(reasons, func(s string) bool { return s == "" }); len(why) > 0 {
		c.Verdict, c.Why = open, strings.Join(why, "; ")
	}
	return c
}

// unmeasured leaves it open.
func (c bulkCriterion) unmeasured(b bulkReport) bulkCriterion {
	c.Verdict, c.Why = open, "no engine beside the CPU does it"
	if len(b.Engines) == 0 {
		c.Why = "there is no engine beside the CPU"
	}
	return c
}

// best returns the line of an operation that has the most of something, of those by the CPU alone,
// by the engines alone or by both; nil where there is none.
func (b bulkReport) best(op bulk.Op, mode bulk.Mode, most func(bulkResult) float64) *bulkResult {
	var found *bulkResult
	for i, r := range b.Results {
		if r.Operation == op.String() && r.mode() == mode && r.Algorithm != anchorName && (found == nil || most(r) > most(*found)) {
			found = &b.Results[i]
		}
	}
	return found
}

// cpu returns the fastest line of the CPU alone at the same.
func (b bulkReport) cpu(of *bulkResult) *bulkResult {
	var found *bulkResult
	for i, r := range b.Results {
		if r.Operation == of.Operation && r.Algorithm == of.Algorithm && r.mode() == bulk.CPUAlone && (found == nil || r.Speed > found.Speed) {
			found = &b.Results[i]
		}
	}
	return found
}

func (r bulkResult) mode() bulk.Mode {
	switch {
	case r.By == imaging.CPUName:
		return bulk.CPUAlone
	case strings.HasPrefix(r.By, imaging.CPUName+"+"):
		return bulk.Shared
	}
	return bulk.EnginesAlone
}

func (r bulkResult) speed() float64 { return r.Speed }

// streamed is what the engines themselves did, in MB/s.
func (r bulkResult) streamed() float64 { return r.Speed * r.Share }

// tooSmall is why a batch is not what was wanted, if it is not.
func (r bulkResult) tooSmall() string {
	if r.Pages >= largeBatch {
		return ""
	}
	return fmt.Sprintf("a batch of 10 GB is wanted, and this was of %s", term.Size(uint64(r.Pages)*pageSize))
}

// failed is what failed of the engines, if anything did: then the CPU did it, and nothing is known
// of them.
func (b bulkReport) failed() string { return strings.Join(b.faults, "; ") }

// unshared is why a line is not what the engines did, if it is not.
func (r bulkResult) unshared() string {
	if r.Share >= enoughShare {
		return ""
	}
	return fmt.Sprintf("the engines did only %.0f%% of the pages", 100*r.Share)
}

// streaming is G.115: the ring keeps the way back of the link busy, with the pages of a large
// batch.
func (b bulkReport) streaming() bulkCriterion {
	link := 0.0
	for _, l := range b.Links {
		link += l.FromDevice
	}
	wanted := max(wantedStream, wantedOfLink*link)
	c := bulkCriterion{Criterion: "G.115", Claim: "pages stream from the engines", Wanted: fmt.Sprintf("at least %.1f", wanted), Unit: "GB/s"}
	r := b.best(bulk.Decompress, bulk.EnginesAlone, bulkResult.streamed)
	if r == nil {
		return c.unmeasured(b)
	}
	c.Algorithm = r.Algorithm
	unknown := ""
	if link == 0 {
		unknown = "no engine tells its link"
	}
	got := r.streamed() / 1e3
	c.Why = fmt.Sprintf("%.2f of the link", got/max(link, 1e-9))
	return c.settle(got >= wanted, got, r.tooSmall(), unknown, b.failed())
}

// ratio is G.116.
func (b bulkReport) ratio() bulkCriterion {
	c := bulkCriterion{Criterion: "G.116", Claim: "the engines' ratio on mixed data", Wanted: fmt.Sprintf("at least %.1f", wantedRatio)}
	r := b.best(bulk.Compress, bulk.EnginesAlone, func(r bulkResult) float64 { return r.Ratio })
	if r == nil {
		return c.unmeasured(b)
	}
	generated := ""
	if b.Generated {
		generated = "the pages are generated: use --pid or --file"
	}
	c.Algorithm = r.Algorithm
	c.Why = fmt.Sprintf("%d different pages of %s", b.Pages, b.Source)
	return c.settle(r.Ratio >= wantedRatio, r.Ratio, generated, r.unshared(), b.failed())
}

// fasterFrom is G.117: by LZ4, the first algorithm that engines know in both directions, else by
// the first.
func (b bulkReport) fasterFrom(op bulk.Op) bulkCriterion {
	c := bulkCriterion{
		Criterion: "G.117", Claim: "engines beside the CPU, " + op.String(), Wanted: fmt.Sprintf("over 1 from %d GB on", wantedFrom), Unit: "times",
	}
	var found *bulkCrossover
	for i, x := range b.Crossovers {
		if x.Operation == op.String() && (found == nil || x.Algorithm == lz4Name) {
			found = &b.Crossovers[i]
		}
	}
	if found == nil {
		return c.unmeasured(b)
	}
	c.Algorithm = found.Algorithm
	least, large, last := 0.0, 0, 0
	for _, s := range found.Sizes {
		if last = s.GB; s.GB >= wantedFrom {
			if gain := s.Engines / s.CPU; large == 0 || gain < least {
				least = gain
			}
			large++
		}
	}
	if last < crossSizes[len(crossSizes)-1] {
		c.Verdict = open
		c.Why = fmt.Sprintf("batches of up to %d GB are wanted, and memory was for %s", crossSizes[len(crossSizes)-1], term.Size(uint64(b.Batch)*pageSize))
		return c
	}
	c.Why = found.sizes()
	return c.settle(least > 1, least, b.failed())
}

// hybrid is G.118.
func (b bulkReport) hybrid() bulkCriterion {
	c := bulkCriterion{Criterion: "G.118", Claim: "10 GB compressed by all together", Wanted: fmt.Sprintf("at least %d", wantedHybrid), Unit: "GB/s"}
	r := b.best(bulk.Compress, bulk.Shared, bulkResult.speed)
	if r == nil {
		return c.unmeasured(b)
	}
	c.Algorithm = r.Algorithm
	c.Why = fmt.Sprintf("in %.0f ms, of which the engines did %.0f%%", float64(r.Pages)*pageSize/1e3/r.Speed, 100*r.Share)
	return c.settle(r.Speed >= wantedHybrid*1e3, r.Speed/1e3, r.tooSmall(), b.failed())
}

// restore is G.119, by whoever is the fastest.
func (b bulkReport) restore() bulkCriterion {
	c := bulkCriterion{Criterion: "G.119", Claim: "2 TB restored in a minute", Wanted: fmt.Sprintf("at least %.1f", wantedRestore), Unit: "GB/s"}
	var r *bulkResult
	for _, mode := range []bulk.Mode{bulk.CPUAlone, bulk.EnginesAlone, bulk.Shared} {
		if o := b.best(bulk.Decompress, mode, bulkResult.speed); o != nil && (r == nil || o.Speed > r.Speed) {
			r = o
		}
	}
	if r == nil {
		c.Verdict, c.Why = open, "no algorithm but a plain copy was measured"
		return c
	}
	c.Algorithm = r.Algorithm
	c.Why = fmt.Sprintf("by %s, %.2f of a plain copy", r.By, r.OfMemcpy)
	return c.settle(r.Speed/1e3 >= wantedRestore, r.Speed/1e3)
}

// parity is G.120.
func (b bulkReport) parity() bulkCriterion {
	c := bulkCriterion{Criterion: "G.120", Claim: "the engines' bytes beside the CPU's", Wanted: fmt.Sprintf("at most %.2f", wantedParity), Unit: "times"}
	r := b.best(bulk.Compress, bulk.EnginesAlone, func(r bulkResult) float64 { return r.Ratio / b.cpu(&r).Ratio })
	if r == nil {
		return c.unmeasured(b)
	}
	cpu := b.cpu(r)
	c.Algorithm = r.Algorithm
	c.Why = fmt.Sprintf("ratio %.3f, the CPU's %.3f", r.Ratio, cpu.Ratio)
	return c.settle(cpu.Ratio/r.Ratio <= wantedParity, cpu.Ratio/r.Ratio, r.unshared(), b.failed())
}

// together is what the specification hopes for of a division that is learned.
func (b bulkReport) together(op bulk.Op) bulkCriterion {
	c := bulkCriterion{
		Criterion: "hybrid", Claim: "all together beside the faster alone, " + op.String(), Wanted: fmt.Sprintf("at least %.1f", wantedTogether), Unit: "times",
	}
	gain := func(r bulkResult) float64 {
		alone := b.cpu(&r).Speed
		for _, o := range b.Results {
			if o.Algorithm == r.Algorithm && o.Operation == r.Operation && o.mode() == bulk.EnginesAlone {
				alone = max(alone, o.Speed)
			}
		}
		return r.Speed / alone
	}
	r := b.best(op, bulk.Shared, gain)
	if r == nil {
		return c.unmeasured(b)
	}
	c.Algorithm = r.Algorithm
	c.Why = fmt.Sprintf("the engines did %.0f%%", 100*r.Share)
	return c.settle(gain(*r) >= wantedTogether, gain(*r), r.tooSmall(), b.failed())
}

func criteriaTable(all []bulkCriterion) term.Table {
	t := term.Table{Columns: []term.Column{
		{Name: "CRITERION"}, {Name: "CLAIM"}, {Name: "ALGORITHM"}, {Name: "WANTED"}, {Name: "MEASURED", Right: true}, {Name: "UNIT"}, {Name: "VERDICT"}, {Name: "WHY"},
	}}
	for _, c := range all {
		measured := "-"
		if c.Measured != nil {
			measured = fmt.Sprintf("%.2f", *c.Measured)
		}
		t.Rows = append(t.Rows, []string{c.Criterion, c.Claim, cmp.Or(c.Algorithm, "-"), c.Wanted, measured, cmp.Or(c.Unit, "-"), c.Verdict, c.Why})
	}
	return t
}
