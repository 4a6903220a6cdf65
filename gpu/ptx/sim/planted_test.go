// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// room is what the kernels of the table work with.
type room struct {
	*ptx.Builder
	in    ptx.Global64 // 1024 read-only bytes
	out   ptx.Global64 // 1024 more, in elements of 16
	zero  ptx.U32      // 0, which the builder does not know
	a, z  ptx.Shared32 // 512 bytes each
	six   ptx.Shared32 // that number of bytes
	lane  ptx.U32
	warp  ptx.U32
	fault bool   // plant it
	place string // where it shows, as FILE:LINE
}

// here says that the next line of the caller is the one that faults.
func (r *room) here() {
	_, file, line, _ := runtime.Caller(1)
	r.place = fmt.Sprintf("%s:%d", filepath.Base(file), line+1)
}

// either is bad where the fault is planted.
func either[T any](r *room, bad, good T) T {
	if r.fault {
		return bad
	}
	return good
}

func (r *room) warpSyncUnless() {
	if !r.fault {
		r.WarpSync()
	}
}

// clear initialises both arrays.
func (r *room) clear() {
	for i := range 2 {
		word(r.a, r.TidX()).At(256 * i).StoreU32(n(0))
		word(r.z, r.TidX()).At(256 * i).StoreU32(n(0))
	}
	r.BlockSync()
}

// word is element i of an array of words.
func word(a ptx.Shared32, i ptx.U32) ptx.Shared32 { return a.Add(i.Shl(n(2))) }

type planted struct {
	name   string
	kind   error
	who    string // block/warp/lane in lockstep
	detail string
	body   func(r *room)
	alter  func(code []ptx.Instruction) // plants what the builder would refuse
	prone  func(d *sim.Device, in, out uint64)
	raw    bool // out is not initialised
}

// run runs the kernel with the fault or without.
func (p *planted) run(t *testing.T, seed uint64, fault bool) (string, error) {
	t.Helper()
	r := &room{fault: fault}
	k := build(t, 64, func(b *ptx.Builder) {
		r.Builder = b
		r.in, r.out, r.zero = b.ParamGlobal("in"), b.ParamGlobal("out"), b.ParamU32("zero")
		r.a, r.z = b.Shared("a", 512, 4), b.Shared("z", 512, 16)
		r.six = b.Shared("six", 6, 4)
		r.lane, r.warp = b.LaneID(), b.WarpID()
		p.body(r)
	})
	if fault && p.alter != nil {
		k = k.Altered(p.alter)
	}
	d := newDevice()
	d.Seed = seed
	d.Strict = p.alter == nil
	if seed == 0 {
		d.Workers = 1
	}
	in := alloc(t, d, sim.Spec{Name: "in", Stride: 4, Access: sim.ReadOnly}, make([]byte, 1024))
	out := alloc(t, d, sim.Spec{Name: "out", Size: 1024, Stride: 16}, nil)
	if !p.raw {
		if err := d.Memory.Fill(out, 0, 1024); err != nil {
			t.Fatal(err)
		}
	}
	if fault && p.prone != nil {
		p.prone(d, in, out)
	}
	_, err := d.Launch(k, 2, 64, in, out, 0)
	return r.place, err
}

func TestPlantedFaults(t *testing.T) {
	names := map[string]bool{}
	for _, table := range [][]planted{addressFaults, sharedRaces, globalRaces, orderFaults} {
		for _, p := range table {
			if names[p.name] {
				t.Fatalf("two faults are called %s", p.name)
			}
			names[p.name] = true
			t.Run(p.name, func(t *testing.T) {
				for seed := range uint64(6) {
					p.check(t, seed)
				}
			})
		}
	}
	if len(names) < 60 {
		t.Errorf("only %d faults", len(names))
	}
}

func (p *planted) check(t *testing.T, seed uint64) {
	t.Helper()
	if _, err := p.run(t, seed, false); err != nil {
		t.Errorf("seed %d, repaired: %v", seed, err)
	}
	place, err := p.run(t, seed, true)
	var f *sim.Fault
	if !errors.As(err, &f) {
		t.Errorf("seed %d: %v, want a fault", seed, err)
		return
	}
	if !errors.Is(err, p.kind) {
		t.Errorf("seed %d: %v, want: %v", seed, err, p.kind)
	}
	if f.Source != place && place != "" && seed == 0 {
		t.Errorf("%v, want it at %s", err, place)
	}
	if !strings.Contains(err.Error(), p.detail) && seed == 0 {
		t.Errorf("%v, want it to say %s", err, p.detail)
	}
	if who := fmt.Sprintf("%d/%d/%d", f.Block, f.Warp, f.Lane); who != p.who && seed == 0 && p.who != "" {
		t.Errorf("%v, want block/warp/lane %s", err, p.who)
	}
}
