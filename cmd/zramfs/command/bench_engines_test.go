// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/imaging"
	"github.com/zramfs/zramfs/cmd/zramfs/sample"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
)

// A pacer is an engine that computes nothing: it leaves pages as they are, as fast as it is asked,
// but each piece takes it some time, as with a device that is far away. It notes what it is told.
type pacer struct {
	takes   time.Duration
	refuses bool // to know memory

	known  map[*byte]bool // regions, and whether they are written to
	closed int
}

func (p *pacer) Name() string { return "pacer" }
func (p *pacer) Limits() bulk.Limits {
	return bulk.Limits{Lanes: 1, Least: 1, Min: 1, Max: 1 << 20}
}
func (p *pacer) Can(op bulk.Op, _ codec.ID) bool { return op == bulk.Compress }

func (p *pacer) Do(_ context.Context, _ int, piece bulk.Piece) (bulk.Times, error) {
	time.Sleep(p.takes)
	for _, i := range piece.Items {
		piece.StoredRaw(i)
	}
	return bulk.Times{}, nil
}

func (p *pacer) Register(region []byte, write bool) error {
	if p.refuses {
		return errors.New("no")
	}
	p.known[&region[0]] = write
	return nil
}

func (p *pacer) Unregister(region []byte) error {
	delete(p.known, &region[0])
	return nil
}

func (p *pacer) Close() error {
	p.closed++
	return nil
}

// paced is a run with a pacer for engine, and what it was opened for.
func paced(t *testing.T, p *pacer, batch int, algorithms string) (r *bulkRun, opened *[]string) {
	t.Helper()
	p.known, opened = map[*byte]bool{}, new([]string)
	withKinds(t, imaging.Kind{Name: "pacer", Open: func(a codec.Algorithm, _ imaging.Options) ([]bulk.Engine, error) {
		*opened = append(*opened, a.String())
		return []bulk.Engine{p}, nil
	}})
	list, err := bulkBenched(algorithms)
	if err != nil {
		t.Fatal(err)
	}
	r, err = newBulkRun(sample.Generate(100), list, batch, imaging.Options{Kinds: engineKinds, Mode: imaging.Auto})
	if err != nil {
		t.Fatal(err)
	}
	r.show = term.NewSteps(io.Discard, "", 0)
	return r, opened
}

// However many algorithms there are, an engine is opened once, knows the memory of all batches, and
// is closed once. It makes objects for the algorithms that it knows; the others have no line for it.
func TestBulkOpensEnginesOnce(t *testing.T) {
	p := &pacer{}
	r, opened := paced(t, p, 200, "zstd(level=1),lz4,page")
	if !slices.Equal(*opened, []string{"lz4"}) {
		t.Errorf("opened for %q", *opened)
	}
	if len(p.known) != 3 || p.known[&r.pages[0]] || p.known[&r.made.Arena[0]] || !p.known[&r.back.Pages[0]] {
		t.Errorf("it knows %v", p.known)
	}
	if err := r.measure(t.Context(), time.Nanosecond, term.NewSteps(io.Discard, "", 0)); err != nil {
		t.Fatal(err)
	}
	b := r.report(sample.Generate(100))
	if err := r.close(); err != nil || p.closed != 1 {
		t.Errorf("closed %d times, %v", p.closed, err)
	}
	var by []string
	for _, r := range b.Results {
		if r.mode() != bulk.CPUAlone {
			by = append(by, r.Algorithm+" "+r.Operation+" "+r.By)
		}
	}
	if want := []string{"lz4 compress pacer", "lz4 compress cpu+pacer"}; !slices.Equal(by, want) {
		t.Errorf("lines %q, want %q", by, want)
	}
	if len(b.Missing)+len(b.Trouble) != 0 {
		t.Errorf("%q, %q", b.Missing, b.Trouble)
	}
}

// An engine that cannot know memory works all the same, and the report says so.
func TestBulkGoesOnWithout(t *testing.T) {
	r, _ := paced(t, &pacer{refuses: true}, 64, "lz4")
	if err := r.measure(t.Context(), time.Nanosecond, term.NewSteps(io.Discard, "", 0)); err != nil {
		t.Fatal(err)
	}
	b := r.report(sample.Generate(100))
	if want := []string{"pacer: no", "pacer: no", "pacer: no"}; !slices.Equal(b.Trouble, want) || !strings.Contains(b.text(), "\ntrouble: pacer: no\n") {
		t.Errorf("%q", b.Trouble)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

// What has been begun is ended where a run cannot be made.
func TestBulkThatCannotBegin(t *testing.T) {
	p := &pacer{known: map[*byte]bool{}}
	withKinds(t, imaging.Kind{Name: "pacer", Open: func(codec.Algorithm, imaging.Options) ([]bulk.Engine, error) {
		return []bulk.Engine{p, p}, nil // of one name, which no planner takes
	}})
	list, err := bulkBenched("lz4")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newBulkRun(sample.Generate(10), list, 10, imaging.Options{Kinds: engineKinds, Mode: imaging.Auto}); err == nil || p.closed != 2 {
		t.Errorf("closed %d times, %v", p.closed, err)
	}
}

// A device may still write to torn pages, which are left where they are.
func TestBulkLeavesTornMemory(t *testing.T) {
	var b benchBuffers
	m, err := b.alloc(5*pageSize, true)
	if err != nil {
		t.Fatal(err)
	}
	b.torn = true
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	m[0] = 1 // would be a fault
	if err := imaging.UnmapBuffer(m); err != nil {
		t.Error(err)
	}
}

// TestFitting wants a batch that leaves memory for the other buffers, and one page at least.
func TestFitting(t *testing.T) {
	m := host.Root(t.TempDir())
	if _, err := fitting(m, 100); err == nil {
		t.Error("a machine that does not tell its memory")
	}
	if err := os.Mkdir(m.Path("proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for kib, want := range map[int]int{4096: min(100, 1024/benchShares), 4: 1} {
		files := map[string]string{"meminfo": fmt.Sprintf("MemAvailable: %d kB\n", kib), "self/mountinfo": ""}
		for name, text := range files {
			path := m.Path("proc", name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := fitting(m, 100); err != nil || n != want {
			t.Errorf("%d KiB: %d pages, %v; want %d", kib, n, err, want)
		}
	}
}

// A batch that there is no memory for is a smaller one, which is said.
func TestBulkOfMoreThanFits(t *testing.T) {
	b := bulkReport{Batch: 10, Wanted: 20}
	if !strings.Contains(b.text(), "\nthe batch was to have 20 pages, for which there is not memory enough\n") {
		t.Error(b.text())
	}
	if b.Wanted = 10; strings.Contains(b.text(), "not memory enough") {
		t.Error(b.text())
	}
}

func TestInParts(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		done := make([]int32, n)
		inParts(n, func(from, to int) {
			for i := from; i < to; i++ {
				done[i]++
			}
		})
		if slices.ContainsFunc(done, func(d int32) bool { return d != 1 }) {
			t.Errorf("of %d: %v", n, done)
		}
	}
}
