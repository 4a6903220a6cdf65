// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/sample"
	"github.com/zramfs/zramfs/internal/term"
)

// testEngine is the CPU's codecs as a second engine, which knows LZ4 alone.
type testEngine struct{ *bulk.CPU }

func (testEngine) Name() string { return "second0" }
func (testEngine) Limits() bulk.Limits {
	return bulk.Limits{Lanes: 2, Least: 128, Min: 64, Max: 4096}
}

func (testEngine) Can(op bulk.Op, id codec.ID) bool { return op == bulk.Compress || id == codec.LZ4 }

var (
	// second is a kind of engine that works.
	second = imageio.Kind{Name: "second", Open: func(a codec.Algorithm, _ imageio.Options) ([]bulk.Engine, error) {
		cpu, err := bulk.NewCPU(a, 2)
		return []bulk.Engine{testEngine{cpu}}, err
	}}
	// missing is a kind that this machine lacks.
	missing = imageio.Kind{Name: "second", Open: func(codec.Algorithm, imageio.Options) ([]bulk.Engine, error) {
		return nil, errors.New("no such device")
	}}
)

// engineOptions are the options for kinds of engine, and memory enough.
func engineOptions(kinds ...imageio.Kind) imageio.Options {
	return imageio.Options{Kinds: kinds, Mode: imageio.Auto, Room: func() (uint64, error) { return 1 << 40, nil }}
}

// twoCores has Go use two cores until the test ends.
func twoCores(t *testing.T) {
	were := runtime.GOMAXPROCS(2)
	t.Cleanup(func() { runtime.GOMAXPROCS(were) })
}

// bulkOf measures known pages in batches.
func bulkOf(t *testing.T, o Options, batch int, kinds ...imageio.Kind) BulkReport {
	t.Helper()
	b, err := Bulk(t.Context(), known(600), o, batch, engineOptions(kinds...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// lines abbreviates the results of a report, without the speeds.
func (b BulkReport) lines() []string {
	var all []string
	for _, r := range b.Results {
		all = append(all, fmt.Sprintf("%s %s %s %d", r.Algorithm, r.Operation, r.By, r.Workers))
	}
	return all
}

// Without another engine Bulk measures one worker and all of them in each operation of each
// algorithm, and a plain copy.
func TestBulkMeasuresTheCPU(t *testing.T) {
	twoCores(t)
	b := bulkOf(t, options(t, "lz4", "page"), 500)
	var want []string
	for _, what := range []string{"memcpy decompress", "lz4 compress", "lz4 decompress", "lz4 verify", "page compress", "page decompress", "page verify"} {
		want = append(want, what+" cpu 1", what+" cpu 2")
	}
	if got := b.lines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if b.Batch != 500 || b.Pages != 400 || b.SameFilled != 200 || b.Rounds < 1 || b.Workers != 2 || len(b.Engines)+len(b.Missing) != 0 {
		t.Errorf("%+v", b)
	}
	for _, r := range b.Results {
		if !(r.Speed > 1) || math.IsInf(r.Speed, 0) || r.Share != 0 || len(r.Fallbacks) != 0 || !(r.OfOne > 0) || !(r.OfMemcpy > 0) {
			t.Errorf("%+v", r)
		}
		if memcpy := r.Algorithm == copyName; memcpy != (r.Ratio == 1) || memcpy && r.OfMemcpy != 1 || r.Workers == 1 && r.OfOne != 1 {
			t.Errorf("%+v", r)
		}
	}
}

// Another engine is measured alone and together with the CPU, with its share.
func TestBulkMeasuresEngines(t *testing.T) {
	twoCores(t)
	b := bulkOf(t, options(t, "lz4"), 1000, second)
	if !slices.Equal(b.Engines, []string{"second0"}) || len(b.Missing) != 0 {
		t.Errorf("%+v", b)
	}
	want := []string{"memcpy decompress cpu 1", "memcpy decompress cpu 2"}
	for _, op := range []string{"compress", "decompress", "verify"} {
		want = append(want, "lz4 "+op+" cpu 1", "lz4 "+op+" cpu 2", "lz4 "+op+" second0 2", "lz4 "+op+" cpu+second0 2")
	}
	if got := b.lines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, r := range b.Results {
		alone := r.By == "second0"
		switch {
		case r.By == imageio.CPUName && r.Share != 0, r.Share < 0 || r.Share > 1:
			t.Errorf("%+v", r)
		case alone && r.Operation == "compress" && r.Share != 1: // it can do all
			t.Errorf("%+v", r)
		// Half of the pages are raw, which the engine cannot read.
		case alone && r.Operation != "compress" && (r.Share < 0.4 || r.Share > 0.6 || r.Fallbacks["unreadable"] == 0):
			t.Errorf("%+v", r)
		case alone && (r.Parts[1].Pieces == 0 || r.Parts[1].Learned <= 0 || r.Parts[1].Busy <= 0):
			t.Errorf("%+v", r)
		}
	}
}

// The report names an engine that is missing; it is an error where the algorithm names it.
func TestBulkWithoutItsEngine(t *testing.T) {
	if b := bulkOf(t, options(t, "lz4"), 200, missing); !slices.Equal(b.Missing, []string{"second: no such device"}) || len(b.Engines) != 0 {
		t.Errorf("%+v", b)
	}
	_, err := Bulk(t.Context(), known(10), options(t, "lz4:backend=second"), 200, engineOptions(missing))
	if err == nil || err.Error() != "open engine second: no such device" {
		t.Error(err)
	}
}

// An algorithm names its engine and the pages of a piece.
func TestBulkByName(t *testing.T) {
	b := bulkOf(t, options(t, "lz4:backend=second:batch=100"), 1000, second)
	for _, r := range b.Results {
		if r.By == "second0" && r.Operation == "compress" && r.Parts[1].Pieces != 10*b.Rounds {
			t.Errorf("%d rounds: %+v", b.Rounds, r)
		}
	}
}

// The text lists the engines, and the missing ones.
func TestBulkText(t *testing.T) {
	o := options(t, codec.Algorithms()...)
	o.Length = time.Millisecond
	b, err := Bulk(t.Context(), sample.Generate(100), o, 64, engineOptions(second))
	if err != nil {
		t.Fatal(err)
	}
	text := b.Text() + bulkOf(t, options(t, "lz4"), 30, missing).Text()
	for _, want := range []string{
		"batches of 64 pages, 64 different ones of generated memory, 0 pages left out as one repeated word; ", "engines: cpu, second0, with",
		"instruction sets: ", "ALGORITHM", "OF-COPY", "\nmemcpy ", "\n" + codec.Algorithms()[0] + " (selected) ", "cpu+second0",
		"Use --pid or --file", "engines: none but the CPU, ", "\nno second: no such device\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// newBulk makes a run over generated pages for LZ4.
func newBulk(t *testing.T, batch int, kinds ...imageio.Kind) *bulkRun {
	t.Helper()
	r, err := bulkRunOf(t, batch, []string{"lz4"}, kinds...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// bulkRunOf makes a run over generated pages, which its caller closes.
func bulkRunOf(t *testing.T, batch int, names []string, kinds ...imageio.Kind) (*bulkRun, error) {
	t.Helper()
	algorithms, err := bulkAlgorithms(options(t, names...).Algorithms)
	if err != nil {
		t.Fatal(err)
	}
	return newBulkRun(sample.Generate(100), algorithms, batch, engineOptions(kinds...))
}

// A batch that is larger than the sample repeats its pages.
func TestBulkRepeatsPages(t *testing.T) {
	r := newBulk(t, 250)
	if r.own != 100 || len(r.pages) != 250*pageSize || !bytes.Equal(r.pages[:pageSize], r.pages[200*pageSize:201*pageSize]) {
		t.Errorf("%d pages in %d bytes", r.own, len(r.pages))
	}
}

// A page that does not come back, or not as it was, ends the measurement.
func TestBulkNoticesAWrongPage(t *testing.T) {
	for want, spoil := range map[string]func(r *bulkRun){
		"did not come back": func(r *bulkRun) { r.pages[0] ^= 1 },
		"were not done":     func(r *bulkRun) { r.made.ID[0] = codec.None },
	} {
		r := newBulk(t, 100)
		r.show = term.NewSteps(io.Discard, "", 0)
		if err := r.round(t.Context(), r.check); err != nil {
			t.Fatal(err)
		}
		spoil(r)
		lz4 := r.subjects[1]
		c := lz4.entries[slices.IndexFunc(lz4.entries, func(c *entry) bool { return c.op == bulk.Decompress })]
		err := r.give(t.Context(), lz4, c, 100)
		if err == nil {
			err = r.check(lz4, c)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// An interrupted run ends with the error of its context.
func TestBulkIsInterrupted(t *testing.T) {
	r := newBulk(t, 100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.measure(ctx, time.Second, term.NewSteps(io.Discard, "", 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
