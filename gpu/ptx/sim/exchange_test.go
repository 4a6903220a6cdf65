// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"encoding/binary"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// exchange is a warp-wide instruction: each lane gives a value and names
// another lane, and gets what want says.
type exchange struct {
	name  string
	make  func(b *ptx.Builder, v, by ptx.U32) ptx.U32
	alter func(code []ptx.Instruction)
	want  func(v, by *[32]uint32, lane int) uint32
}

// clamped sets the clamp and segments of a shuffle.
func clamped(op ptx.Opcode, c uint64) func(code []ptx.Instruction) {
	return each(op, func(in *ptx.Instruction) { in.Src[2].Value = c })
}

// at is the value of a lane if ok, and else the lane's own.
func at(v *[32]uint32, lane int, ok bool, own int) uint32 {
	if ok {
		return v[lane]
	}
	return v[own]
}

var exchanges = []exchange{
	{name: "idx", make: (*ptx.Builder).ShflIdx, want: func(v, by *[32]uint32, lane int) uint32 { return v[by[lane]%32] }},
	{name: "up", make: (*ptx.Builder).ShflUp, want: func(v, by *[32]uint32, lane int) uint32 {
		from := lane - int(by[lane]%32)
		return at(v, from, from >= 0, lane)
	}},
	{name: "bfly", make: (*ptx.Builder).ShflBfly, want: func(v, by *[32]uint32, lane int) uint32 { return v[lane^int(by[lane]%32)] }},
	// Segments of eight lanes.
	{name: "idx in segments", make: (*ptx.Builder).ShflIdx, alter: clamped(ptx.OpShflIdx, 24<<8|31), want: func(v, by *[32]uint32, lane int) uint32 {
		return v[lane/8*8+int(by[lane]%8)]
	}},
	{name: "up in segments", make: (*ptx.Builder).ShflUp, alter: clamped(ptx.OpShflUp, 24<<8), want: func(v, by *[32]uint32, lane int) uint32 {
		from := lane - int(by[lane]%32)
		return at(v, from, from >= lane/8*8, lane)
	}},
	{name: "bfly in segments", make: (*ptx.Builder).ShflBfly, alter: clamped(ptx.OpShflBfly, 24<<8|31), want: func(v, by *[32]uint32, lane int) uint32 {
		from := lane ^ int(by[lane]%32)
		return at(v, from, from <= lane/8*8+7, lane)
	}},
	{name: "idx up to lane 5", make: (*ptx.Builder).ShflIdx, alter: clamped(ptx.OpShflIdx, 5), want: func(v, by *[32]uint32, lane int) uint32 {
		return at(v, int(by[lane]%32), by[lane]%32 <= 5, lane)
	}},
	{name: "ballot", make: func(b *ptx.Builder, v, by ptx.U32) ptx.U32 { return b.Ballot(v.Lt(by)) }, want: func(v, by *[32]uint32, _ int) uint32 {
		return lanesWhere(func(i int) bool { return v[i] < by[i] })
	}},
	{name: "any", make: func(b *ptx.Builder, v, by ptx.U32) ptx.U32 {
		return ptx.Select(b.Any(v.Eq(by)), n(1), n(0))
	}, want: func(v, by *[32]uint32, _ int) uint32 {
		return uint32(truth(lanesWhere(func(i int) bool { return v[i] == by[i] }) != 0))
	}},
	{name: "all", make: func(b *ptx.Builder, v, by ptx.U32) ptx.U32 {
		return ptx.Select(b.All(v.Ge(n(1))), n(1), n(0)).Add(ptx.Select(b.All(by.Ge(by)), n(2), n(0)))
	}, want: func(v, _ *[32]uint32, _ int) uint32 {
		return 2 + uint32(truth(lanesWhere(func(i int) bool { return v[i] >= 1 }) == 1<<32-1))
	}},
	{name: "match", make: func(b *ptx.Builder, v, _ ptx.U32) ptx.U32 { return b.MatchAny(v.And(n(7))) }, want: func(v, _ *[32]uint32, lane int) uint32 {
		return lanesWhere(func(i int) bool { return v[i]&7 == v[lane]&7 })
	}},
}

func lanesWhere(f func(i int) bool) (m uint32) {
	for i := range 32 {
		m |= uint32(truth(f(i))) << i
	}
	return m
}

func TestExchanges(t *testing.T) {
	for _, e := range exchanges {
		t.Run(e.name, func(t *testing.T) {
			k := build(t, 32, func(b *ptx.Builder) {
				in, out := b.ParamGlobal("in"), b.ParamGlobal("out")
				i := b.CtaidX().Mad(b.NtidX(), b.TidX())
				v, by := in.Index(i, 8).LoadU32(), in.Index(i, 8).At(4).LoadU32()
				out.Index(i, 4).StoreU32(e.make(b, v, by))
			})
			if e.alter != nil {
				k = k.Altered(e.alter)
			}
			for seed := range uint64(2) {
				e.check(t, k, seed)
			}
		})
	}
}

func (e *exchange) check(t *testing.T, k *ptx.Kernel, seed uint64) {
	t.Helper()
	const warps = 50
	var v, by [warps][32]uint32
	var content []byte
	for w := range warps {
		for i := range 32 {
			// Small numbers, so that lanes often agree; some warps nearly always.
			v[w][i], by[w][i] = uint32(w*i*i+w)%uint32(w+1), uint32(w*7+i*w*w*3)%40
			content = append(content, words(v[w][i], by[w][i])...)
		}
	}
	d := newDevice()
	d.Seed = seed
	in, out := alloc(t, d, sim.Spec{Name: "in"}, content), alloc(t, d, sim.Spec{Name: "out", Size: 4 * 32 * warps}, nil)
	if _, err := d.Launch(k, warps, 32, in, out); err != nil {
		t.Fatal(err)
	}
	got := read(t, d, out, 4*32*warps)
	for w := range warps {
		for i := range 32 {
			if g, want := binary.LittleEndian.Uint32(got[4*(32*w+i):]), e.want(&v[w], &by[w], i); g != want {
				t.Fatalf("warp %d, lane %d: got %#x, want %#x", w, i, g, want)
			}
		}
	}
}
