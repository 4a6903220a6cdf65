// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// A statement of a random program over two variables that differ between lanes.
type statement struct {
	kind       int // one of those below
	k          uint32
	body, also []statement
}

const (
	mix = iota
	ifElse
	loop
	leaveLoop
	together // a ballot, at the top level only: all lanes must have met
	kinds
)

func randomProgram(r *rand.Rand, depth int, inLoop bool) []statement {
	var list []statement
	for range 1 + r.IntN(4) {
		s := statement{kind: r.IntN(kinds), k: uint32(r.IntN(16))}
		switch {
		case s.kind == leaveLoop && !inLoop, s.kind == together && depth > 0, s.kind >= ifElse && s.kind <= loop && depth > 3:
			s.kind = mix
		case s.kind == ifElse:
			s.body, s.also = randomProgram(r, depth+1, inLoop), randomProgram(r, depth+1, inLoop)
		case s.kind == loop:
			s.body = randomProgram(r, depth+1, true)
		}
		list = append(list, s)
	}
	return list
}

// machine builds the program.
type machine struct {
	b    *ptx.Builder
	x, y *ptx.Var[ptx.U32]
}

// odd is a condition that lanes see differently.
func (m *machine) odd(k uint32) ptx.Pred {
	return m.x.Get().Add(m.y.Get()).Shr(n(k % 8)).And(n(3)).Eq(n(k & 3))
}

func (m *machine) build(list []statement) {
	for _, s := range list {
		switch s.kind {
		case mix:
			m.x.Set(m.x.Get().Mad(n(5), m.y.Get()))
			m.y.Set(m.y.Get().Xor(m.x.Get().Shr(n(s.k))).Add(n(1)))
		case ifElse:
			m.b.IfElse(m.odd(s.k), func() { m.build(s.body) }, func() { m.build(s.also) })
		case loop:
			i := ptx.NewVar(m.b, n(0))
			m.b.Loop(func() {
				m.b.BreakIf(i.Get().Ge(m.x.Get().And(n(s.k))))
				m.build(s.body)
				i.Set(i.Get().Add(n(1)))
			})
		case leaveLoop:
			m.b.BreakIf(m.odd(s.k))
		case together:
			m.x.Set(m.x.Get().Add(m.b.Ballot(m.odd(s.k))))
		}
	}
}

// lanes are a warp's variables, in Go.
type lanes struct{ x, y [32]uint32 }

func (l *lanes) odd(i int, k uint32) bool { return (l.x[i]+l.y[i])>>(k%8)&3 == k&3 }

// run runs one lane and tells whether a loop is to be left.
func (l *lanes) run(i int, list []statement) bool {
	for _, s := range list {
		switch s.kind {
		case mix:
			l.x[i] = l.x[i]*5 + l.y[i]
			l.y[i] = l.y[i] ^ l.x[i]>>s.k
			l.y[i]++
		case ifElse:
			body := s.also
			if l.odd(i, s.k) {
				body = s.body
			}
			if l.run(i, body) {
				return true
			}
		case loop:
			for j := uint32(0); j < l.x[i]&s.k; j++ {
				if l.run(i, s.body) {
					break
				}
			}
		case leaveLoop:
			if l.odd(i, s.k) {
				return true
			}
		}
	}
	return false
}

// runAll runs all lanes, one statement of the top level after the other.
func (l *lanes) runAll(list []statement) {
	for at, s := range list {
		if s.kind == together {
			var ballot uint32
			for i := range l.x {
				ballot |= uint32(truth(l.odd(i, s.k))) << i
			}
			for i := range l.x {
				l.x[i] += ballot
			}
			continue
		}
		for i := range l.x {
			l.run(i, list[at:at+1])
		}
	}
}

// Random programs of branches, loops and breaks compute in every schedule what
// the lanes compute one by one in Go.
func TestControlFlow(t *testing.T) {
	var divergent uint64
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 5))
		program := append(randomProgram(r, 0, false), statement{kind: together, k: 1})
		k := build(t, 64, func(b *ptx.Builder) {
			out := b.ParamGlobal("out").Index(b.TidX(), 8)
			m := machine{b, ptx.NewVar(b, b.TidX().Mul(n(0x9e3779b1))), ptx.NewVar(b, b.TidX())}
			m.build(program)
			out.StoreU32(m.x.Get())
			out.At(4).StoreU32(m.y.Get())
		})
		for schedule := range uint64(3) {
			d := newDevice()
			d.Seed = schedule
			d.StepLimit = 1 << 22
			out := alloc(t, d, sim.Spec{Name: "out", Size: 512, Stride: 8}, nil)
			stats, err := d.Launch(k, 1, 64, out)
			if err != nil {
				t.Fatalf("program %d, schedule %d: %v\n%s", seed, schedule, err, k.PTX())
			}
			divergent += stats.Divergent
			checkLanes(t, read(t, d, out, 512), program, seed, schedule)
		}
	}
	if divergent < 1000 {
		t.Errorf("only %d divergent branches", divergent)
	}
}

func checkLanes(t *testing.T, got []byte, program []statement, seed, schedule uint64) {
	t.Helper()
	for warp := range uint32(2) {
		var want lanes
		for i := range want.x {
			tid := warp*32 + uint32(i)
			want.x[i], want.y[i] = tid*0x9e3779b1, tid
		}
		want.runAll(program)
		for i := range want.x {
			at := got[8*(int(warp)*32+i):]
			if x, y := binary.LittleEndian.Uint32(at), binary.LittleEndian.Uint32(at[4:]); x != want.x[i] || y != want.y[i] {
				t.Fatalf("program %d, schedule %d, warp %d, lane %d: got %d and %d, want %d and %d", seed, schedule, warp, i, x, y, want.x[i], want.y[i])
			}
		}
	}
}

// In step, lanes that part meet again at the first instruction that all reach.
func TestReconvergesAtOnce(t *testing.T) {
	k := build(t, 32, func(b *ptx.Builder) {
		lane := b.LaneID()
		x := ptx.NewVar(b, lane)
		i := ptx.NewVar(b, n(0))
		b.Loop(func() {
			b.BreakIf(i.Get().Ge(lane)) // leaves the lanes one by one
			i.Set(i.Get().Add(n(1)))
			b.If(x.Get().And(n(1)).Eq(n(0)), func() { x.Set(x.Get().Add(n(2))) })
			x.Set(x.Get().Brev())
		})
		x.Set(x.Get().Popc())
	})
	d := newDevice()
	stats, err := d.Launch(k, 1, 32)
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range k.Instructions() {
		switch count := stats.Instruction[i]; in.Op {
		case ptx.OpPopcB32:
			if count.Warps != 1 || count.Lanes != 32 {
				t.Errorf("after the loop: %+v", count)
			}
		case ptx.OpBrevB32:
			if count.Warps != 31 || count.Lanes != 31*32/2 {
				t.Errorf("after the condition: %+v", count)
			}
		}
	}
}

// Where lanes run ahead of each other, what they do in turn becomes visible.
func TestSchedulesDiffer(t *testing.T) {
	k := build(t, 64, func(b *ptx.Builder) {
		out := b.ParamGlobal("out")
		ticket := out.AtomicAdd(n(1))
		out.Index(ticket, 4).At(4).StoreU32(b.TidX())
	})
	results := map[string]bool{}
	for seed := range uint64(8) {
		var first []byte
		for range 2 {
			d := newDevice()
			d.Seed = seed
			out := alloc(t, d, sim.Spec{Name: "out", Size: 4 + 256}, words(0))
			if _, err := d.Launch(k, 1, 64, out); err != nil {
				t.Fatal(err)
			}
			got := read(t, d, out, 260)
			if first == nil {
				first = got
			} else if string(first) != string(got) {
				t.Errorf("seed %d gives two results", seed)
			}
		}
		results[string(first)] = true
	}
	if len(results) < 6 {
		t.Errorf("8 seeds, %d results", len(results))
	}
}
