// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// A registrar is a second engine that notes what it is told of memory.
type registrar struct {
	*second
	refuse error
	known  map[*byte]bool // write
}

func newRegistrar(t *testing.T, name string) *registrar {
	e := &registrar{second: newSecond(t, "lz4", codec.LZ4), known: map[*byte]bool{}}
	e.name = name
	return e
}

func (e *registrar) Register(region []byte, write bool) error {
	if e.refuse != nil {
		return e.refuse
	}
	e.known[&region[0]] = write
	return nil
}

func (e *registrar) Unregister(region []byte) error {
	if _, ok := e.known[&region[0]]; !ok {
		return errors.New("nobody has told")
	}
	delete(e.known, &region[0])
	return nil
}

// All engines that want to know are told of memory, and one that refuses is not asked to forget it.
func TestRegister(t *testing.T) {
	a, b := newRegistrar(t, "a"), newRegistrar(t, "b")
	b.refuse = errInjected
	p := newPlanner(t, newCPU(t, "lz4", 1), Config{}, a, b, newSecond(t, "lz4", codec.LZ4))
	read, written := make([]byte, codec.PageSize), make([]byte, codec.PageSize)
	if err := p.Register(read, false); !errors.Is(err, errInjected) {
		t.Errorf("an engine that refuses: %v", err)
	}
	b.refuse = nil
	if err := p.Register(written, true); err != nil {
		t.Error(err)
	}
	if w, ok := a.known[&read[0]]; w || !ok || !a.known[&written[0]] || len(b.known) != 1 {
		t.Errorf("the engines know %v and %v", a.known, b.known)
	}
	p.engines[1].dead.Store(true)
	if err := errors.Join(p.Unregister(read), p.Unregister(written), p.Unregister(read), p.Unregister(nil)); err != nil {
		t.Error(err)
	}
	if len(a.known)+len(b.known) != 0 {
		t.Errorf("still known: %v and %v", a.known, b.known)
	}
	if err := p.Register(nil, true); !errors.Is(err, ErrBatch) {
		t.Errorf("no memory: %v", err)
	}
	if err := errors.Join(p.Register(read, false), p.Close()); err != nil {
		t.Error(err)
	}
	if err := p.Register(written, false); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed planner: %v", err)
	}
}

// Pages that a device may still write to end the batch: no engine does them again, and the device
// gets no more work.
func TestTornPagesEndTheBatch(t *testing.T) {
	const n = 3000
	all := lz4Only(t, n)
	e := newSecond(t, "lz4", codec.LZ4)
	e.limits.Lanes, e.spoil = 1, true
	e.fail = func(piece int) error {
		if piece == 3 {
			return fmt.Errorf("silent: %w", ErrTorn)
		}
		return nil
	}
	p := newPlanner(t, newCPU(t, "lz4", 2), Config{Mode: EnginesAlone, Piece: 100}, e)
	b := mixed(t, all, "lz4")
	var r Report
	if err := p.Run(t.Context(), b, &r); !errors.Is(err, ErrTorn) {
		t.Fatalf("the batch ends with %v", err)
	}
	for i := 200; i < 300; i++ {
		if b.Verdict[i] != Pending || b.Page(i)[0] != 0xcc {
			t.Fatalf("item %d is %s, its page begins with %#x", i, b.Verdict[i], b.Page(i)[0])
		}
	}
	if g := r.Engines[1]; !g.Dead || g.Failures != 1 || !errors.Is(g.Err, ErrTorn) || r.Fallbacks[Failed] != 100 {
		t.Errorf("%+v", r)
	}
	checkReportOfSome(t, &r, b)
}

// Torn pages are the batch's error whatever else goes wrong in it, for their memory must not be
// used.
func TestTornPagesAreToldFirst(t *testing.T) {
	cpu, begun := newCPU(t, "lz4", 2), make(chan struct{})
	for i := range cpu.lanes {
		cpu.lanes[i].compressor = waiting{begun}
	}
	e := newSecond(t, "lz4", codec.LZ4)
	e.limits.Lanes = 1
	p := newPlanner(t, cpu, Config{}, e)
	e.fail = func(int) error {
		close(begun)
		for p.defect.Load() == nil {
			time.Sleep(time.Millisecond)
		}
		return ErrTorn
	}
	b := NewBatch(Compress, 2000)
	b.Pages = somePages(2000)
	if err := p.Run(t.Context(), b, nil); !errors.Is(err, ErrTorn) {
		t.Errorf("the batch ends with %v", err)
	}
}

// waiting is a compressor that fails, once it may.
type waiting struct{ begun chan struct{} }

func (w waiting) Compress([]byte, []byte) (codec.ID, int, error) {
	<-w.begun
	return codec.None, 0, errInjected
}
