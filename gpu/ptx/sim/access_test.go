// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// place is an address in either space.
type place[A any] interface {
	At(n int) A
	LoadU8() ptx.U32
	LoadU16() ptx.U32
	LoadU32() ptx.U32
	LoadU64() ptx.U64
	LoadV4() [4]ptx.U32
	StoreU8(v ptx.U32)
	StoreU16(v ptx.U32)
	StoreU32(v ptx.U32)
	StoreU64(v ptx.U64)
	StoreV4(v [4]ptx.U32)
}

// copy16 copies 16 bytes by accesses of a shape: bytes an element, elements.
func copy16[F place[F], T place[T]](from F, to T, shape [2]int) {
	for at := 0; at < 16; at += shape[0] * shape[1] {
		switch f, t := from.At(at), to.At(at); shape {
		case [2]int{1, 1}:
			t.StoreU8(f.LoadU8())
		case [2]int{2, 1}:
			t.StoreU16(f.LoadU16())
		case [2]int{4, 1}:
			t.StoreU32(f.LoadU32())
		case [2]int{8, 1}:
			t.StoreU64(f.LoadU64())
		case [2]int{4, 4}:
			t.StoreV4(f.LoadV4())
		}
	}
}

var shapes = [][2]int{{1, 1}, {2, 1}, {4, 1}, {8, 1}, {4, 4}}

// Bytes go from global memory through shared memory and back, in accesses of
// each width and into other lanes' hands.
func TestWidths(t *testing.T) {
	content := make([]byte, 64*16)
	for i := range content {
		content[i] = byte(i*7 + i>>8)
	}
	for _, first := range shapes {
		for _, second := range shapes {
			t.Run(fmt.Sprint(first, second), func(t *testing.T) {
				k := build(t, 64, func(b *ptx.Builder) {
					in, out, a := b.ParamGlobal("in"), b.ParamGlobal("out"), b.Shared("a", 64*16, 16)
					tid := b.TidX()
					copy16(in.Index(tid, 16), a.Add(tid.Shl(n(4))), first)
					b.BlockSync()
					other := tid.Xor(n(45))
					copy16(a.Add(other.Shl(n(4))), out.Index(other, 16), second)
				})
				for seed := range uint64(2) {
					d := newDevice()
					d.Seed = seed
					in, out := alloc(t, d, sim.Spec{Name: "in", Access: sim.ReadOnly}, content), alloc(t, d, sim.Spec{Name: "out", Size: len(content)}, nil)
					if _, err := d.Launch(k, 1, 64, in, out); err != nil {
						t.Fatal(err)
					}
					if got := read(t, d, out, len(content)); !bytes.Equal(got, content) {
						t.Errorf("got %x", got)
					}
				}
			})
		}
	}
}

// A short store leaves the rest of a register out, a short load clears it.
func TestShortAccessesCut(t *testing.T) {
	k := build(t, 32, func(b *ptx.Builder) {
		out, a := b.ParamGlobal("out").Index(b.TidX(), 16), b.Shared("a", 128, 4).Add(b.TidX().Shl(n(2)))
		v := b.TidX().Add(n(0x89abcd00))
		a.StoreU32(n(0))
		a.StoreU16(v)
		out.StoreU32(a.LoadU32())
		a.StoreU8(n(0x55))
		out.At(4).StoreU32(a.LoadU16())
		out.At(8).StoreU32(a.At(1).LoadU8())
		a.StoreU16(v)
		out.At(12).StoreU32(a.LoadU16())
	})
	d := newDevice()
	out := alloc(t, d, sim.Spec{Name: "out", Size: 32 * 16}, nil)
	if _, err := d.Launch(k, 1, 32, out); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(32) {
		v := 0xcd00 + i
		if got, want := read(t, d, out+uint64(16*i), 16), words(v, v&0xff00|0x55, v>>8, v); !bytes.Equal(got, want) {
			t.Errorf("lane %d: got %x, want %x", i, got, want)
		}
	}
}

// All threads change one word: what remains does not depend on the order.
func TestAtomics(t *testing.T) {
	tid := func(b *ptx.Builder) ptx.U32 { return b.CtaidX().Mad(b.NtidX(), b.TidX()) }
	const threads = 3 * 64
	var sum, or uint32
	for i := range uint32(64) {
		v := i * 0x9e3779b1
		sum, or = sum+v, or|v
	}
	k := build(t, 64, func(b *ptx.Builder) {
		out, a := b.ParamGlobal("out"), b.Shared("a", 12, 4)
		b.When(b.TidX().Lt(n(3)), func() { a.Add(b.TidX().Shl(n(2))).StoreU32(n(0)) })
		b.BlockSync()
		v := b.TidX().Mul(n(0x9e3779b1))
		a.AtomicAdd(v)
		a.At(4).AtomicOr(v)
		first := a.At(8).AtomicOr(n(1))
		b.When(first.Eq(n(0)), func() { out.At(12).AtomicAdd(n(1)) })
		b.BlockSync()
		b.When(tid(b).Lt(n(2)), func() { out.Index(b.TidX(), 4).StoreU32(a.Add(b.TidX().Shl(n(2))).LoadU32()) })
		out.At(8).AtomicAdd(tid(b))
	})
	for seed := range uint64(4) {
		d := newDevice()
		d.Seed = seed
		out := alloc(t, d, sim.Spec{Name: "out"}, make([]byte, 16))
		if _, err := d.Launch(k, 3, 64, out); err != nil {
			t.Fatal(err)
		}
		if got := read(t, d, out, 16); !bytes.Equal(got, words(sum, or, threads*(threads-1)/2, 3)) {
			t.Errorf("seed %d: %x", seed, got)
		}
	}
}

// Where blocks use the same bytes without a race, Go's race detector sees none either.
func TestStrongAccessesDoNotRace(t *testing.T) {
	k := build(t, 32, func(b *ptx.Builder) {
		out := b.ParamGlobal("out")
		out.StoreVolatileU32(b.CtaidX())
		out.At(4).StoreVolatileU32(n(5))
		out.At(8).AtomicAdd(b.CtaidX())
		out.At(4).AtomicAdd(n(0))
	})
	d := newDevice()
	d.Workers = 4
	out := alloc(t, d, sim.Spec{Name: "out"}, make([]byte, 12))
	if _, err := d.Launch(k, 200, 32, out); err != nil {
		t.Fatal(err)
	}
	if got := read(t, d, out, 8); binary.LittleEndian.Uint32(got) >= 200 || got[4] != 5 {
		t.Errorf("%x", got)
	}
}
