// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// Whichever pieces fail, and whatever they leave behind, the batch comes out the same, both ways.
func TestErrorsChangeNothing(t *testing.T) {
	const n = 4000
	all := somePages(n)
	alone := newPlanner(t, newCPU(t, "lz4", 1), Config{Mode: CPUAlone})
	want := NewBatch(Compress, n)
	want.Pages = all
	run(t, alone, want)
	for name, fail := range map[string]func(piece int) bool{
		"first":  func(piece int) bool { return piece == 1 },
		"middle": func(piece int) bool { return piece == 7 },
		"odd":    func(piece int) bool { return piece%2 == 1 },
		"always": func(int) bool { return true },
	} {
		for _, mode := range []Mode{Shared, EnginesAlone} {
			t.Run(fmt.Sprint(name, mode), func(t *testing.T) {
				e := newSecond(t, "lz4", codec.LZ4)
				e.fail, e.spoil = func(piece int) error { return every(fail(piece)) }, true
				p := newPlanner(t, newCPU(t, "lz4", 2), Config{Mode: mode, Piece: 200}, e)
				made := NewBatch(Compress, n)
				made.Pages = all
				r := run(t, p, made)
				checkFailures(t, r, name)
				checkObjects(t, made, want)
				back := *made
				back.Op, back.Pages = Decompress, make([]byte, len(all))
				run(t, p, &back)
				if !bytes.Equal(back.Pages, all) {
					t.Error("the pages did not come back equal")
				}
			})
		}
	}
}

func checkFailures(t *testing.T, r *Report, name string) {
	t.Helper()
	e := r.Engines[1]
	if (e.Failures > 0) != (r.Fallbacks[Failed] > 0) || (e.Failures > 0) != errors.Is(e.Err, errInjected) {
		t.Errorf("%+v", r)
	}
	if name == "always" && (e.Items != 0 || e.Failures != e.Pieces) {
		t.Errorf("%+v", r)
	}
	if name == "middle" && e.Failures > 1 {
		t.Errorf("%+v", r)
	}
}

// checkObjects wants the objects of one batch to be those of another, wherever they lie.
func checkObjects(t *testing.T, got, want *Batch) {
	t.Helper()
	for i := range want.N {
		a, _ := got.Object(i)
		b, _ := want.Object(i)
		if got.ID[i] != want.ID[i] || !bytes.Equal(a, b) {
			t.Fatalf("item %d: %s of %d bytes, want %s of %d", i, got.ID[i], len(a), want.ID[i], len(b))
		}
	}
}

// An engine that fails three times in a row gets no more work; one that reports ErrDead gets none
// from then on.
func TestDeadEngines(t *testing.T) {
	const n = 3000
	all := lz4Only(t, n)
	for name, c := range map[string]struct {
		err      error
		failures int
	}{"errors": {errInjected, maxFailures}, "gone": {fmt.Errorf("sticky: %w", ErrDead), 1}} {
		t.Run(name, func(t *testing.T) {
			e := newSecond(t, "lz4", codec.LZ4)
			e.limits.Lanes = 1
			e.fail = func(int) error { return c.err }
			p := newPlanner(t, newCPU(t, "lz4", 2), Config{Mode: EnginesAlone, Piece: 100}, e)
			b := mixed(t, all, "lz4")
			r := run(t, p, b)
			checkPages(t, b, all)
			if r.Engines[1].Failures != c.failures || !r.Engines[1].Dead || r.Engines[0].Items != n || r.Fallbacks[Failed] != 100*c.failures {
				t.Errorf("%+v", r)
			}
			r = run(t, p, b)
			checkPages(t, b, all)
			if r.Engines[1].Pieces != 0 || r.Fallbacks[Dead] != n {
				t.Errorf("afterwards: %+v", r)
			}
		})
	}
}

// Errors that are not in a row do not end an engine.
func TestEngineRecovers(t *testing.T) {
	const n = 3000
	all := lz4Only(t, n)
	e := newSecond(t, "lz4", codec.LZ4)
	e.limits.Lanes = 1
	e.fail = func(piece int) error { return every(piece%maxFailures != 0) }
	p := newPlanner(t, newCPU(t, "lz4", 2), Config{Mode: EnginesAlone, Piece: 100}, e)
	r := run(t, p, mixed(t, all, "lz4"))
	if e := r.Engines[1]; e.Dead || e.Pieces != 30 || e.Items != 1000 || r.Fallbacks[Failed] != 2000 {
		t.Errorf("%+v", r)
	}
}

// The CPU does the items that an engine leaves, in whole pieces where it compresses.
func TestItemsThatAreLeft(t *testing.T) {
	const n = 2000
	all := lz4Only(t, n)
	e := newSecond(t, "lz4", codec.LZ4)
	e.leave = func(i uint32) bool { return i >= 100 && i < 110 || i == 500 || i == n-1 }
	p := newPlanner(t, newCPU(t, "lz4", 2), Config{Mode: EnginesAlone, Piece: 200}, e)
	b := mixed(t, all, "lz4")
	r := run(t, p, b)
	checkPages(t, b, all)
	if r.Fallbacks[Left] != 12 || r.Engines[0].Items != 12 || r.Engines[1].Failures != 0 {
		t.Errorf("%+v", r)
	}
	made := NewBatch(Compress, n)
	made.Pages = all
	if r = run(t, p, made); r.Fallbacks[Left] != 600 || r.Engines[0].Items != 600 {
		t.Errorf("%+v", r)
	}
}

// A cancelled batch ends soon, leaves no engine at work on it and unfinished items Pending, and the
// next one is done as usual.
func TestCancellation(t *testing.T) {
	const n = 4000
	all := somePages(n)
	for name, delay := range map[string]time.Duration{"engine waits": time.Minute, "engine is fast": 0} {
		t.Run(name, func(t *testing.T) {
			e := newSecond(t, "lz4", codec.LZ4)
			e.delay = delay
			p := newPlanner(t, newCPU(t, "lz4", 2), Config{}, e)
			b := mixed(t, all, "lz4", "zstd(level=1)")
			ctx, cancel := context.WithCancel(t.Context())
			var seen int
			b.Before = func(items []uint32) {
				if slices.Contains(items, n/2) {
					cancel()
				}
			}
			began := time.Now()
			var r Report
			err := p.Run(ctx, b, &r)
			cancel()
			if !errors.Is(err, context.Canceled) || time.Since(began) > 10*time.Second {
				t.Fatalf("%v after %v", err, time.Since(began))
			}
			verdict := slices.Clone(b.Verdict)
			checkReportOfSome(t, &r, b)
			for i := range n {
				if b.Verdict[i] == Done {
					seen++
					if !bytes.Equal(b.Page(i), all[i*codec.PageSize:(i+1)*codec.PageSize]) {
						t.Fatalf("item %d is another page", i)
					}
				}
			}
			if seen == n || !slices.Equal(verdict, b.Verdict) || r.Engines[1].Failures != 0 {
				t.Errorf("%d done, %+v", seen, r)
			}
			e.delay, b.Before = 0, nil
			run(t, p, b)
			checkPages(t, b, all)
		})
	}
}

// checkReportOfSome wants the verdicts of a batch that was not ended to be counted right.
func checkReportOfSome(t *testing.T, r *Report, b *Batch) {
	t.Helper()
	for v := range verdicts {
		if r.Verdicts[v] != count(b.Verdict[:b.N], v) {
			t.Errorf("%d items are %s, reported %v", count(b.Verdict[:b.N], v), v, r.Verdicts)
		}
	}
}

// Cancelled before it began, nothing of a batch is done.
func TestCancelledBefore(t *testing.T) {
	p := newPlanner(t, newCPU(t, "lz4", 2), Config{}, newSecond(t, "lz4", codec.LZ4))
	b := mixed(t, somePages(1000), "lz4")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Run(ctx, b, nil); !errors.Is(err, context.Canceled) || count(b.Verdict, Pending) != b.N {
		t.Errorf("%v, %d pending", err, count(b.Verdict, Pending))
	}
}

// A defect of a compression library ends the batch with its error.
func TestDefect(t *testing.T) {
	cpu := newCPU(t, "lz4", 2)
	for i := range cpu.lanes {
		cpu.lanes[i].compressor = defective{}
	}
	p := newPlanner(t, cpu, Config{})
	b := NewBatch(Compress, 1000)
	b.Pages = somePages(1000)
	if err := p.Run(t.Context(), b, nil); !errors.Is(err, errInjected) {
		t.Errorf("%v", err)
	}
}

type defective struct{}

func (defective) Compress([]byte, []byte) (codec.ID, int, error) { return codec.None, 0, errInjected }
