// SPDX-License-Identifier: Apache-2.0

package kernels

import "github.com/zramfs/zramfs/gpu/ptx"

// F082Words is how many words each block of an F082 case reads and writes, one a thread.
const F082Words = 64

// An F082Case is one of fifteen small kernels for what the original specification suspects of
// crashing: storing to an address that was computed from a loaded value. There are three for each
// of its five hypotheses, repaired where their text does not assemble or breaks the machine's own
// rules. docs/gpu.md has the story; what the cases show is that a device does as it is told.
//
// Each takes two parameters, in and out, which are addresses of [F082Words] words for each block.
// What it reads must be that of [F082Input], and what it writes to must hold zeros.
type F082Case struct {
	Name       string // the kernel's
	Hypothesis string // what would have to crash it
	Build      func() (*ptx.Kernel, error)
	// Want is what a block writes if it reads in.
	Want func(in []uint32) []uint32
}

// F082Cases returns the cases, those of one hypothesis behind one another.
func F082Cases() []F082Case {
	const (
		spaces   = "an address computed from shared memory is used for global memory"
		widening = "a computed address is widened from 32 to 64 bits"
		order    = "a store is moved before the load that its address comes from"
		pressure = "a computed address is kept in memory for want of registers"
		branches = "the lanes of a warp compute different addresses"
	)
	return []F082Case{
		f082("f082_h1_shared_only", spaces, scattered, func(f *f082Kernel) { f.storeShared(f.neighbour().LoadU32()) }),
		f082("f082_h1_global_only", spaces, scattered, func(f *f082Kernel) { f.store(f.in.Index(f.other, 4).LoadU32()) }),
		f082("f082_h1_shared_to_global", spaces, scattered, func(f *f082Kernel) { f.store(f.neighbour().LoadU32()) }),
		f082("f082_h2_narrow", widening, rotated, func(f *f082Kernel) { f.storeShared(f.next(f.neighbour().LoadU32())) }),
		f082("f082_h2_literal", widening, copied, (*f082Kernel).storeAtLiterals),
		f082("f082_h2_widened", widening, rotated, func(f *f082Kernel) { f.store(f.next(f.neighbour().LoadU32())) }),
		f082("f082_h3_fence", order, scattered, func(f *f082Kernel) {
			offset := f.neighbour().LoadU32()
			f.MembarCta()
			f.store(offset)
		}),
		f082("f082_h3_volatile", order, scattered, func(f *f082Kernel) {
			f.out.Add(f.neighbour().LoadVolatileU32().Wide()).StoreVolatileU32(f.tid)
		}),
		f082("f082_h3_plain", order, overwritten, (*f082Kernel).overwrite),
		f082("f082_h4_few_registers", pressure, hashed(f082Few), func(f *f082Kernel) { f.storeHash(f082Few, 32) }),
		f082("f082_h4_many_registers", pressure, hashed(f082Many), func(f *f082Kernel) { f.storeHash(f082Many, 0) }),
		f082("f082_h4_spilled", pressure, hashed(f082Many), func(f *f082Kernel) { f.storeHash(f082Many, 32) }),
		f082("f082_h5_uniform_address", branches, counted, (*f082Kernel).storeTogether),
		f082("f082_h5_uniform_load", branches, elected, (*f082Kernel).storeElected),
		f082("f082_h5_divergent", branches, parted, (*f082Kernel).storeParted),
	}
}

// F082Input is what a block must be given: its words' offsets in bytes, in another order for each
// block, even ones at even places.
func F082Input(block int) []uint32 {
	in := make([]uint32, F082Words)
	for i := range in {
		in[i] = 4 * (uint32(5*i+2*block) % F082Words)
	}
	return in
}

// f082Kernel is a case being built: its words lie in shared memory, too, where all threads of the
// block can read them.
type f082Kernel struct {
	*ptx.Builder
	tid, other ptx.U32 // other is a thread of the other warp
	in, out    ptx.Global64
	words      ptx.Shared32
}

// otherThread is what a thread's number is changed by to make it the other's.
const otherThread = 33

func f082(name, hypothesis string, want func(in []uint32) []uint32, body func(f *f082Kernel)) F082Case {
	return F082Case{name, hypothesis, func() (*ptx.Kernel, error) {
		b := ptx.New(name, F082Words)
		in, out, tid := b.ParamGlobal("in"), b.ParamGlobal("out"), b.TidX()
		f := &f082Kernel{b, tid, tid.Xor(n(otherThread)), in.Index(b.CtaidX(), 4*F082Words), out.Index(b.CtaidX(), 4*F082Words), b.Shared("words", 4*F082Words, 16)}
		f.words.Add(tid.Shl(n(2))).StoreU32(f.in.Index(tid, 4).LoadU32())
		b.BlockSync()
		body(f)
		return b.Build()
	}, want}
}

// neighbour is where the other thread has put its word.
func (f *f082Kernel) neighbour() ptx.Shared32 { return f.words.Add(f.other.Shl(n(2))) }

// next is the offset of the word behind the one at offset, in a ring.
func (f *f082Kernel) next(offset ptx.U32) ptx.U32 {
	return offset.Add(n(4)).And(n(4*F082Words - 1))
}

// store writes the thread's number to a computed place in global memory.
func (f *f082Kernel) store(offset ptx.U32) { f.out.Add(offset.Wide()).StoreU32(f.tid) }

// storeShared writes it to a computed place in shared memory, from where it is copied.
func (f *f082Kernel) storeShared(offset ptx.U32) {
	result := f.Shared("result", 4*F082Words, 16)
	result.Add(offset).StoreU32(f.tid)
	f.BlockSync()
	f.out.Index(f.tid, 4).StoreU32(result.Add(f.tid.Shl(n(2))).LoadU32())
}

// storeAtLiterals adds constants of 64 bits to a base. An address that is nothing but a literal, as
// the specification has it, is no memory of ours.
func (f *f082Kernel) storeAtLiterals() {
	f.When(f.tid.Eq(n(0)), func() {
		for i := range F082Words {
			f.out.Add(ptx.N64(uint64(4 * i))).StoreU32(f.words.At(4 * i).LoadU32())
		}
	})
}

// overwrite has a store behind the load whose place the load's value depends on: were they
// exchanged, the wrong word would be written.
func (f *f082Kernel) overwrite() {
	place := f.neighbour()
	offset := place.LoadU32()
	place.StoreU32(n(0))
	f.store(offset.Add(place.LoadU32()))
}

// The words that are held while an address is: a few, and more than there are registers for if they
// are limited.
const (
	f082Few  = 8
	f082Many = 160
	// f082Factor makes the hash depend on the words' order.
	f082Factor = 31
)

// storeHash computes an address, then loads so many words that registers get scarce, and needs them
// in the opposite order before it stores. Volatile loads stay where they are.
func (f *f082Kernel) storeHash(count, registers int) {
	if registers > 0 {
		f.MaxRegisters(registers)
	}
	place := f.out.Add(f.neighbour().LoadVolatileU32().Wide())
	held := make([]ptx.U32, count)
	for i := range held {
		held[i] = f.words.Add(f.tid.Add(n(i)).And(n(F082Words - 1)).Shl(n(2))).LoadVolatileU32()
	}
	hash := f.tid
	for i := range held {
		hash = hash.Mad(n(f082Factor), held[count-1-i])
	}
	place.StoreU32(hash)
}

// storeTogether has all lanes of a warp go to one address. A plain store by 32 lanes to one word is
// a race, so they count.
func (f *f082Kernel) storeTogether() { f.out.Index(f.WarpID(), 4).At(40).AtomicAdd(n(1)) }

// storeElected has all lanes load from one address; one of them stores.
func (f *f082Kernel) storeElected() {
	w := f.WarpID()
	place := f.out.Add(f.words.Add(w.Shl(n(2))).LoadU32().Wide())
	f.When(f.LaneID().Eq(n(0)), func() { place.StoreU32(w.Add(n(1))) })
}

// storeParted has even and odd lanes compute addresses in different ways.
func (f *f082Kernel) storeParted() {
	offset := f.neighbour().LoadU32()
	f.IfElse(f.LaneID().And(n(1)).Eq(n(0)), func() {
		f.store(offset)
	}, func() {
		f.store(offset.Xor(n(8)))
	})
}
