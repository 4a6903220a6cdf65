// SPDX-License-Identifier: Apache-2.0

package kernels

import "github.com/zramfs/zramfs/gpu/ptx"

// AddressWords is how many words each block of an address case reads and writes, one a thread.
const AddressWords = 64

// An AddressCase is one of fifteen small kernels that store to an address computed from a loaded
// value. A kernel for LZ4 was suspected of crashing by that: three cases test each of five
// hypotheses. docs/gpu.md has the story; the cases show that a device does as it is told.
//
// Each takes two parameters, in and out: addresses of [AddressWords] words for each block. It
// reads the input of [AddressInput]; its output must hold zeros.
type AddressCase struct {
	Name       string // the kernel's
	Hypothesis string // what would have to crash it
	Build      func() (*ptx.Kernel, error)
	// Want is what a block writes if it reads in.
	Want func(in []uint32) []uint32
}

// AddressCases returns the cases, those of one hypothesis behind one another.
func AddressCases() []AddressCase {
	const (
		spaces   = "an address computed from shared memory is used for global memory"
		widening = "a computed address is widened from 32 to 64 bits"
		order    = "a store is moved before the load that its address comes from"
		pressure = "a computed address is kept in memory for want of registers"
		branches = "the lanes of a warp compute different addresses"
	)
	return []AddressCase{
		addressCase("address_h1_shared_only", spaces, scattered, func(f *addressKernel) { f.storeShared(f.neighbour().LoadU32()) }),
		addressCase("address_h1_global_only", spaces, scattered, func(f *addressKernel) { f.store(f.in.Index(f.other, 4).LoadU32()) }),
		addressCase("address_h1_shared_to_global", spaces, scattered, func(f *addressKernel) { f.store(f.neighbour().LoadU32()) }),
		addressCase("address_h2_narrow", widening, rotated, func(f *addressKernel) { f.storeShared(f.next(f.neighbour().LoadU32())) }),
		addressCase("address_h2_literal", widening, copied, (*addressKernel).storeAtLiterals),
		addressCase("address_h2_widened", widening, rotated, func(f *addressKernel) { f.store(f.next(f.neighbour().LoadU32())) }),
		addressCase("address_h3_fence", order, scattered, func(f *addressKernel) {
			offset := f.neighbour().LoadU32()
			f.MembarCta()
			f.store(offset)
		}),
		addressCase("address_h3_volatile", order, scattered, func(f *addressKernel) {
			f.out.Add(f.neighbour().LoadVolatileU32().Wide()).StoreVolatileU32(f.tid)
		}),
		addressCase("address_h3_plain", order, overwritten, (*addressKernel).overwrite),
		addressCase("address_h4_few_registers", pressure, hashed(addressFew), func(f *addressKernel) { f.storeHash(addressFew, 32) }),
		addressCase("address_h4_many_registers", pressure, hashed(addressMany), func(f *addressKernel) { f.storeHash(addressMany, 0) }),
		addressCase("address_h4_spilled", pressure, hashed(addressMany), func(f *addressKernel) { f.storeHash(addressMany, 32) }),
		addressCase("address_h5_uniform_address", branches, counted, (*addressKernel).storeTogether),
		addressCase("address_h5_uniform_load", branches, elected, (*addressKernel).storeElected),
		addressCase("address_h5_divergent", branches, parted, (*addressKernel).storeParted),
	}
}

// AddressInput is what a block must be given: its words' offsets in bytes, in another order for
// each block, even ones at even places.
func AddressInput(block int) []uint32 {
	in := make([]uint32, AddressWords)
	for i := range in {
		in[i] = 4 * (uint32(5*i+2*block) % AddressWords)
	}
	return in
}

// addressKernel is a case being built: its words lie in shared memory, too, where all threads of
// the block can read them.
type addressKernel struct {
	*ptx.Builder
	tid, other ptx.U32 // other is a thread of the other warp
	in, out    ptx.Global64
	words      ptx.Shared32
}

// otherThread is what a thread's number is changed by to make it the other's.
const otherThread = 33

func addressCase(name, hypothesis string, want func(in []uint32) []uint32, body func(f *addressKernel)) AddressCase {
	return AddressCase{name, hypothesis, func() (*ptx.Kernel, error) {
		b := ptx.New(name, AddressWords)
		in, out, tid := b.ParamGlobal("in"), b.ParamGlobal("out"), b.TidX()
		f := &addressKernel{b, tid, tid.Xor(n(otherThread)), in.Index(b.CtaidX(), 4*AddressWords), out.Index(b.CtaidX(), 4*AddressWords), b.Shared("words", 4*AddressWords, 16)}
		f.words.Add(tid.Shl(n(2))).StoreU32(f.in.Index(tid, 4).LoadU32())
		b.BlockSync()
		body(f)
		return b.Build()
	}, want}
}

// neighbour is where the other thread has put its word.
func (f *addressKernel) neighbour() ptx.Shared32 { return f.words.Add(f.other.Shl(n(2))) }

// next is the offset of the word behind the one at offset, in a ring.
func (f *addressKernel) next(offset ptx.U32) ptx.U32 {
	return offset.Add(n(4)).And(n(4*AddressWords - 1))
}

// store writes the thread's number to a computed place in global memory.
func (f *addressKernel) store(offset ptx.U32) { f.out.Add(offset.Wide()).StoreU32(f.tid) }

// storeShared writes it to a computed place in shared memory, from where it is copied.
func (f *addressKernel) storeShared(offset ptx.U32) {
	result := f.Shared("result", 4*AddressWords, 16)
	result.Add(offset).StoreU32(f.tid)
	f.BlockSync()
	f.out.Index(f.tid, 4).StoreU32(result.Add(f.tid.Shl(n(2))).LoadU32())
}

// storeAtLiterals adds constants of 64 bits to a base. An address that is nothing but a literal, as
// the specification has it, is no memory of ours.
func (f *addressKernel) storeAtLiterals() {
	f.When(f.tid.Eq(n(0)), func() {
		for i := range AddressWords {
			f.out.Add(ptx.N64(uint64(4 * i))).StoreU32(f.words.At(4 * i).LoadU32())
		}
	})
}

// overwrite has a store behind the load whose place the load's value depends on: were they
// exchanged, the wrong word would be written.
func (f *addressKernel) overwrite() {
	place := f.neighbour()
	offset := place.LoadU32()
	place.StoreU32(n(0))
	f.store(offset.Add(place.LoadU32()))
}

// The words that are held while an address is: a few, and more than there are registers for if they
// are limited.
const (
	addressFew  = 8
	addressMany = 160
	// addressFactor makes the hash depend on the words' order.
	addressFactor = 31
)

// storeHash computes an address, then loads enough words that registers get scarce, and needs them
// in the opposite order before it stores. Volatile loads stay where they are.
func (f *addressKernel) storeHash(count, registers int) {
	if registers > 0 {
		f.MaxRegisters(registers)
	}
	place := f.out.Add(f.neighbour().LoadVolatileU32().Wide())
	held := make([]ptx.U32, count)
	for i := range held {
		held[i] = f.words.Add(f.tid.Add(n(i)).And(n(AddressWords - 1)).Shl(n(2))).LoadVolatileU32()
	}
	hash := f.tid
	for i := range held {
		hash = hash.Mad(n(addressFactor), held[count-1-i])
	}
	place.StoreU32(hash)
}

// storeTogether has all lanes of a warp go to one address. A plain store by 32 lanes to one word is
// a race, so they count.
func (f *addressKernel) storeTogether() { f.out.Index(f.WarpID(), 4).At(40).AtomicAdd(n(1)) }

// storeElected has all lanes load from one address; one of them stores.
func (f *addressKernel) storeElected() {
	w := f.WarpID()
	place := f.out.Add(f.words.Add(w.Shl(n(2))).LoadU32().Wide())
	f.When(f.LaneID().Eq(n(0)), func() { place.StoreU32(w.Add(n(1))) })
}

// storeParted has even and odd lanes compute addresses in different ways.
func (f *addressKernel) storeParted() {
	offset := f.neighbour().LoadU32()
	f.IfElse(f.LaneID().And(n(1)).Eq(n(0)), func() {
		f.store(offset)
	}, func() {
		f.store(offset.Xor(n(8)))
	})
}
