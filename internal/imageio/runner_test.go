// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/sample"
)

// A troubled engine is the CPU's codecs with faults: each field that is not nil is its method's
// answer.
type troubled struct {
	*bulk.CPU
	name                  string
	do, register, closing error
	doing                 func() // before it fails; nil is nothing

	mu      sync.Mutex
	regions [][]byte // that it was told of
	pages   []byte   // of the last batch that it failed
}

func (e *troubled) Name() string { return e.name }
func (e *troubled) Limits() bulk.Limits {
	return bulk.Limits{Lanes: 2, Least: 1, Min: 1, Max: 3000}
}

func (e *troubled) Do(ctx context.Context, lane int, p bulk.Piece) (bulk.Times, error) {
	if e.do != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.pages = p.Pages
		if e.doing != nil {
			e.doing()
		}
		return bulk.Times{}, e.do
	}
	return e.CPU.Do(ctx, lane, p)
}

func (e *troubled) Close() error { return errors.Join(e.closing, e.CPU.Close()) }

func (e *troubled) Register(region []byte, _ bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.register == nil {
		e.regions = append(e.regions, region)
	}
	return e.register
}

func (e *troubled) Unregister(region []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.regions = slices.DeleteFunc(e.regions, func(r []byte) bool { return &r[0] == &region[0] })
	return nil
}

// runnerOf opens a runner for LZ4 with these engines.
func runnerOf(t *testing.T, most uint64, engines ...*troubled) *runner {
	t.Helper()
	a, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	var all []bulk.Engine
	for i, e := range engines {
		if e.CPU, err = bulk.NewCPU(a, 2); err != nil {
			t.Fatal(err)
		}
		e.name = fmt.Sprintf("second%d", i)
		all = append(all, e)
	}
	kinds := []Kind{{Name: "second", Open: func(codec.Algorithm, Options) ([]bulk.Engine, error) {
		if len(all) == 0 {
			return nil, errors.New("no such device")
		}
		return all, nil
	}}}
	s, err := newRunner(a, Options{Mode: Auto, Device: AllDevices, Kinds: kinds}, most)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// thereAndBack compresses generated pages, decompresses them into a buffer and compares.
func thereAndBack(t *testing.T, s *runner, n int) *bulk.Batch {
	t.Helper()
	made := bulk.NewBatch(bulk.Compress, n)
	made.Pages = s.buffer(n*pageSize, false)
	copy(made.Pages, sample.Generate(n).Pages)
	if err := s.run(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	back := *made
	back.Op, back.Pages = bulk.Decompress, s.buffer(n*pageSize, true)
	if err := s.run(t.Context(), &back); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.Pages, made.Pages) {
		t.Error("pages did not come back as they were")
	}
	return &back
}

func TestBatchesAreLargeEnoughForEveryEngine(t *testing.T) {
	for _, c := range []struct {
		engines int
		most    uint64
		want    int
	}{
		{0, 1 << 40, windowPages}, {0, 10, 10}, {0, 0, 1}, {1, 1 << 40, windowPages + 6000}, {2, 1 << 40, windowPages + 12000}, {2, 700, 700}, {50, 1 << 40, maxWindow},
	} {
		var engines []bulk.Engine
		for range c.engines {
			engines = append(engines, &troubled{})
		}
		if got := batchPages(engines, c.most); got != c.want {
			t.Errorf("%d engines, %d pages: %d, want %d", c.engines, c.most, got, c.want)
		}
	}
}

// Engines have all memory registered during work and none afterwards; each is in the report.
func TestRunner(t *testing.T) {
	e := &troubled{}
	s := runnerOf(t, 1<<40, e)
	s.planner.SetMode(bulk.EnginesAlone) // the CPU could do all before the engine begins
	thereAndBack(t, s, 2000)
	if len(e.regions) != 2 || len(s.buffers) != 2 {
		t.Errorf("it knows %d regions of %d", len(e.regions), len(s.buffers))
	}
	s.close()
	if len(e.regions) != 0 {
		t.Errorf("%d regions are left", len(e.regions))
	}
	r := s.report()
	if len(r.Engines) != 2 || r.Engines[0].Name != CPUName || r.Engines[1].Name != "second0" || len(r.Missing) != 0 {
		t.Fatalf("%+v", r)
	}
	if cpu, second := r.Engines[0], r.Engines[1]; cpu.Pages+second.Pages != 4000 || second.Pages == 0 || second.Pieces == 0 || cpu.Share+second.Share < 0.999 || second.Failures != 0 {
		t.Errorf("%+v", r)
	}
	text := r.Text()
	if !strings.Contains(text, "\nsecond0: ") || !strings.HasPrefix(text, "cpu: ") {
		t.Errorf("%q", text)
	}
}

// Without an engine other than the CPU, the report has no line of any, and buffers are Go's.
func TestRunnerOfTheCPU(t *testing.T) {
	s := runnerOf(t, 1<<40)
	thereAndBack(t, s, 300)
	s.close()
	r := s.report()
	if len(s.buffers) != 0 || s.pages != windowPages || len(r.Engines) != 1 || r.Engines[0].Share != 1 || len(r.Fallbacks) != 0 {
		t.Errorf("%+v", r)
	}
	if text := r.Text(); text != "no second: no such device\n" {
		t.Errorf("%q", text)
	}
	out, err := json.Marshal(VerifyReport{WorkReport: r})
	if err != nil || !strings.Contains(string(out), `"engines":[{"name":"cpu","pages":600,"share":1,`) || !strings.Contains(string(out), `"fallbacks":{},"missing":["second: no such device"],"trouble":[]`) {
		t.Errorf("%s, %v", out, err)
	}
}

// The CPU does an engine's failed pieces; the report notes the failure, and the work has no error.
// A failed engine gets no more memory registered.
func TestRunnerGoesOn(t *testing.T) {
	e := &troubled{do: errors.New("out of order"), register: errors.New("no memory"), closing: errors.New("no end")}
	s := runnerOf(t, 1<<40, e)
	thereAndBack(t, s, 2000)
	s.close()
	r := s.report()
	if r.Engines[0].Share != 1 || r.Engines[1].Failures == 0 || r.Engines[1].LastError != "out of order" || r.Fallbacks["failed"] == 0 {
		t.Errorf("%+v", r)
	}
	want := []string{"engine second0: no memory", "close engine second0: no end"}
	if !slices.Equal(r.Trouble, want) || len(r.Missing) != 0 {
		t.Errorf("%q, want %q", r.Trouble, want)
	}
	if text := r.Text(); !strings.Contains(text, "\ntrouble: engine second0: no memory\n") || !strings.Contains(text, " failed, the last one by out of order\n") || !strings.Contains(text, "in place of others: ") {
		t.Errorf("%q", text)
	}
}

// The runner abandons memory that a device may still write to, and the pages are right in other
// memory.
func TestRunnerDoesAgainWhatIsTorn(t *testing.T) {
	e := &troubled{}
	s := runnerOf(t, 1<<40, e)
	s.planner.SetMode(bulk.EnginesAlone) // the CPU could do all before the engine begins
	e.do = bulk.ErrTorn
	b := bulk.NewBatch(bulk.Compress, 1000)
	b.Pages = sample.Generate(1000).Pages
	a, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	alone, err := NewPlanner(a, 1, nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(alone.Run(t.Context(), b, nil), alone.Close()); err != nil {
		t.Fatal(err)
	}
	back := *b
	torn := s.buffer(1000*pageSize, true)
	back.Op, back.Pages = bulk.Decompress, torn
	if err := s.run(t.Context(), &back); err != nil {
		t.Fatal(err)
	}
	if &e.pages[0] != &torn[0] || &back.Pages[0] == &torn[0] || len(s.buffers) != 0 {
		t.Error("the memory is still in use")
	}
	s.close()
	for i := range torn { // still mapped, and no longer used
		torn[i] = 0xff
	}
	if !bytes.Equal(back.Pages, b.Pages) {
		t.Error("pages did not come back as they were")
	}
	r := s.report()
	if r.Engines[0].Pages != 1000 || r.Engines[1].Pages != 0 || r.Engines[1].Failures == 0 || !strings.Contains(r.Engines[1].LastError, "may still be written") {
		t.Errorf("%+v", r)
	}
}

// Engines do not write to pages to compress. If an engine reports such a write, the work ends with
// an error instead of compressing changed pages.
func TestRunnerLosesNoPages(t *testing.T) {
	s := runnerOf(t, 1<<40, &troubled{do: bulk.ErrTorn})
	defer s.close()
	s.planner.SetMode(bulk.EnginesAlone)
	b := bulk.NewBatch(bulk.Compress, 10)
	b.Pages = bytes.Clone(sample.Generate(10).Pages)
	if err := s.run(t.Context(), b); !errors.Is(err, bulk.ErrTorn) || !bytes.Equal(b.Pages, sample.Generate(10).Pages) {
		t.Errorf("%v, and are the pages there: %v", err, bytes.Equal(b.Pages, sample.Generate(10).Pages))
	}
}
