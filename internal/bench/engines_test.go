// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"io"
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

// A pacer is an engine that computes nothing: it stores pages as they are. It records the memory
// that is registered with it.
type pacer struct {
	refuses bool // to register memory

	known  map[*byte]bool // regions, and whether they are written to
	closed int
}

func (p *pacer) Name() string { return "pacer" }
func (p *pacer) Limits() bulk.Limits {
	return bulk.Limits{Lanes: 1, Least: 1, Min: 1, Max: 1 << 20}
}
func (p *pacer) Can(op bulk.Op, _ codec.ID) bool { return op == bulk.Compress }

func (p *pacer) Do(_ context.Context, _ int, piece bulk.Piece) (bulk.Times, error) {
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

// paced makes a run with a pacer as engine, and lists the algorithms that the pacer is opened for.
func paced(t *testing.T, p *pacer, batch int, algorithms ...string) (r *bulkRun, opened *[]string) {
	t.Helper()
	p.known, opened = map[*byte]bool{}, new([]string)
	r, err := bulkRunOf(t, batch, algorithms, imageio.Kind{Name: "pacer", Open: func(a codec.Algorithm, _ imageio.Options) ([]bulk.Engine, error) {
		*opened = append(*opened, a.String())
		return []bulk.Engine{p}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.show = term.NewSteps(io.Discard, "", 0)
	return r, opened
}

// An engine is opened once for all algorithms, knows the memory of all batches, and is closed once.
// Only the algorithms that it makes objects of have results for it.
func TestBulkOpensEnginesOnce(t *testing.T) {
	p := &pacer{}
	r, opened := paced(t, p, 200, "zstd(level=1)", "lz4", "page")
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

// An engine that cannot register memory works without, and the report says so.
func TestBulkGoesOnWithout(t *testing.T) {
	r, _ := paced(t, &pacer{refuses: true}, 64, "lz4")
	if err := r.measure(t.Context(), time.Nanosecond, term.NewSteps(io.Discard, "", 0)); err != nil {
		t.Fatal(err)
	}
	b := r.report(sample.Generate(100))
	if want := []string{"pacer: no", "pacer: no", "pacer: no"}; !slices.Equal(b.Trouble, want) || !strings.Contains(b.Text(), "\ntrouble: pacer: no\n") {
		t.Errorf("%q", b.Trouble)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

// A run that cannot be made closes its engines.
func TestBulkThatCannotBegin(t *testing.T) {
	p := &pacer{known: map[*byte]bool{}}
	twice := imageio.Kind{Name: "pacer", Open: func(codec.Algorithm, imageio.Options) ([]bulk.Engine, error) {
		return []bulk.Engine{p, p}, nil // of one name, which no planner takes
	}}
	if _, err := bulkRunOf(t, 10, []string{"lz4"}, twice); err == nil || p.closed != 2 {
		t.Errorf("closed %d times, %v", p.closed, err)
	}
}

// Torn memory stays mapped, since a device may still write to it.
func TestBulkLeavesTornMemory(t *testing.T) {
	var b buffers
	m, err := b.alloc(5*pageSize, true)
	if err != nil {
		t.Fatal(err)
	}
	b.torn = true
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	m[0] = 1 // would be a fault
	if err := imageio.UnmapBuffer(m); err != nil {
		t.Error(err)
	}
}

func TestFitting(t *testing.T) {
	for _, c := range []struct {
		room        uint64
		pages, want int
	}{{0, 100, 1}, {3 * memoryShares * pageSize, 100, 3}, {1 << 40, 100, 100}} {
		if n := fitting(c.room, c.pages); n != c.want {
			t.Errorf("%d bytes: %d of %d pages, want %d", c.room, n, c.pages, c.want)
		}
	}
}

// The text reports a batch that is smaller than wanted.
func TestBulkOfMoreThanFits(t *testing.T) {
	b := BulkReport{Batch: 10, Wanted: 20}
	if !strings.Contains(b.Text(), "\nthe batch was to have 20 pages, for which there is not memory enough\n") {
		t.Error(b.Text())
	}
	if b.Wanted = 10; strings.Contains(b.Text(), "not memory enough") {
		t.Error(b.Text())
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
