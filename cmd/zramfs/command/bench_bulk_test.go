// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/imaging"
	"github.com/zramfs/zramfs/cmd/zramfs/sample"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
)

// withEngine makes the test binary have a kind of engine more: one that works where it is "there",
// and one that there is none of otherwise.
const withEngine = "ZRAMFS_TEST_ENGINE"

// testEngine is the CPU's codecs as another engine, which knows LZ4 alone. It imitates no device.
type testEngine struct{ *bulk.CPU }

func (testEngine) Name() string { return "second0" }
func (testEngine) Limits() bulk.Limits {
	return bulk.Limits{Lanes: 2, Least: 128, Min: 64, Max: 4096}
}

func (testEngine) Can(op bulk.Op, id codec.ID) bool { return op == bulk.Compress || id == codec.LZ4 }

func offerTestEngine(how string) {
	engineKinds = append(engineKinds, imaging.Kind{Name: "second", Open: func(a codec.Algorithm, _ imaging.Options) ([]bulk.Engine, error) {
		if how != "there" {
			return nil, errors.New("no such device")
		}
		cpu, err := bulk.NewCPU(a, 2)
		return []bulk.Engine{testEngine{cpu}}, err
	}})
}

// bulkOf runs bench bulk as a program, for a moment, and reads its JSON.
func bulkOf(t *testing.T, args ...string) bulkReport {
	t.Helper()
	got := runProgram(t, append([]string{"bench", "bulk", "--json", "--seconds", "0.1"}, args...)...)
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d, stderr %q", got.code, got.stderr)
	}
	var b bulkReport
	d := json.NewDecoder(strings.NewReader(got.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		t.Fatalf("%v in %s", err, got.stdout)
	}
	return b
}

// lines writes the lines of a report in short, the speeds left out.
func (b bulkReport) lines() []string {
	var all []string
	for _, r := range b.Results {
		all = append(all, fmt.Sprintf("%s %s %s %d", r.Algorithm, r.Operation, r.By, r.Workers))
	}
	return all
}

// Without another engine one worker and all of them are measured, at each operation of each
// algorithm, beside a plain copy.
func TestBulkMeasuresTheCPU(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2")
	b := bulkOf(t, "--file", knownFile(t, 600), "--algorithm", "lz4,page", "--batch", "500")
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
		if memcpy := r.Algorithm == anchorName; memcpy != (r.Ratio == 1) || memcpy && r.OfMemcpy != 1 || r.Workers == 1 && r.OfOne != 1 {
			t.Errorf("%+v", r)
		}
	}
}

// Another engine is measured alone and together with the CPU, with its part.
func TestBulkMeasuresEngines(t *testing.T) {
	t.Setenv(withEngine, "there")
	t.Setenv("GOMAXPROCS", "2")
	b := bulkOf(t, "--file", knownFile(t, 600), "--algorithm", "lz4", "--batch", "1000")
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
		case r.By == imaging.CPUName && r.Share != 0, r.Share < 0 || r.Share > 1:
			t.Errorf("%+v", r)
		case alone && r.Operation == "compress" && r.Share != 1: // it can do all
			t.Errorf("%+v", r)
		case alone && r.Operation != "compress" && (r.Share < 0.4 || r.Share > 0.6 || r.Fallbacks["unreadable"] == 0): // half is raw
			t.Errorf("%+v", r)
		case alone && (r.Parts[1].Pieces == 0 || r.Parts[1].Learned <= 0 || r.Parts[1].Busy <= 0):
			t.Errorf("%+v", r)
		}
	}
}

// An engine that is not there is said to be missing, and is an error only where it was asked for.
func TestBulkWithoutItsEngine(t *testing.T) {
	t.Setenv(withEngine, "missing")
	if b := bulkOf(t, "--algorithm", "lz4", "--batch", "200"); !slices.Equal(b.Missing, []string{"second: no such device"}) || len(b.Engines) != 0 {
		t.Errorf("%+v", b)
	}
	got := runProgram(t, "bench", "bulk", "--seconds", "0.01", "--batch", "200", "--algorithm", "lz4:backend=second")
	if got.code != exitFailure || got.stderr != "zramfs: bench: open engine second: no such device\n" || got.stdout != "" {
		t.Errorf("%+v", got)
	}
}

// An engine is asked for by name, and given as many pages at a time as the name says.
func TestBulkByName(t *testing.T) {
	t.Setenv(withEngine, "there")
	b := bulkOf(t, "--algorithm", "lz4:backend=second:batch=100", "--batch", "1000")
	for _, r := range b.Results {
		if r.By == "second0" && r.Operation == "compress" && r.Parts[1].Pieces != 10*b.Rounds {
			t.Errorf("%d rounds: %+v", b.Rounds, r)
		}
	}
}

func TestBulkText(t *testing.T) {
	t.Setenv(withEngine, "there")
	got := runProgram(t, "bench", "bulk", "--seconds", "0.01", "--batch", "64")
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{
		"batches of 64 pages, 64 different ones of generated memory, 0 pages left out as one repeated word; 1 round\n", "engines: cpu, second0, with",
		"instruction sets: ", "ALGORITHM", "OF-COPY", "\nmemcpy ", "\n" + codec.Algorithms()[0] + " (selected) ", "cpu+second0",
		"Use --pid or --file",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
	t.Setenv(withEngine, "missing")
	if got := runProgram(t, "bench", "bulk", "--seconds", "0.01", "--batch", "30", "-a", "lz4"); !strings.Contains(got.stdout, "engines: none but the CPU, ") ||
		!strings.Contains(got.stdout, "\nno second: no such device\n") {
		t.Errorf("%+v", got)
	}
}

func TestBulkUsage(t *testing.T) {
	for _, args := range [][]string{
		{"bulk", "bulk"}, {"bulk", "--seconds", "0"}, {"bulk", "--batch", "0"}, {"bulk", "--batch", "4194305"}, {"bulk", "--batch", "x"},
		{"bulk", "--algorithm", "gzip"}, {"bulk", "--algorithm", "lz4:backend=none"}, {"bulk", "--file", "a", "--pid", "1"}, {"bulk", "--banana"},
		{"codec", "--batch", "100"},
	} {
		got := runProgram(t, append([]string{"bench"}, args...)...)
		if got.code != exitUsage || !strings.HasPrefix(got.stderr, "zramfs: ") || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

func TestBulkOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "zeros")
	if err := os.WriteFile(path, make([]byte, 10*pageSize), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{path: "every page is one repeated word", path + "x": "no such file"} {
		if got := runProgram(t, "bench", "bulk", "--file", name); got.code != exitFailure || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %q", name, got, want)
		}
	}
}

// newBulk makes a run over generated pages for lz4.
func newBulk(t *testing.T, batch int) *bulkRun {
	t.Helper()
	algorithms, err := bulkBenched("lz4")
	if err != nil {
		t.Fatal(err)
	}
	r, err := newBulkRun(sample.Generate(100), algorithms, batch, imaging.Options{Kinds: engineKinds, Mode: imaging.Auto})
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

// A batch that is larger than the pages that there are has them again.
func TestBulkRepeatsPages(t *testing.T) {
	r := newBulk(t, 250)
	if r.own != 100 || len(r.pages) != 250*pageSize || !bytes.Equal(r.pages[:pageSize], r.pages[200*pageSize:201*pageSize]) {
		t.Errorf("%d pages in %d bytes", r.own, len(r.pages))
	}
}

// Pages that do not come back are no result, nor are such as do not come back as they were.
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

// A run that is interrupted says so.
func TestBulkIsInterrupted(t *testing.T) {
	r := newBulk(t, 100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.measure(ctx, time.Second, term.NewSteps(io.Discard, "", 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
