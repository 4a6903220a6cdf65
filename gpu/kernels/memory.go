// SPDX-License-Identifier: Apache-2.0

package kernels

import "github.com/zramfs/zramfs/gpu/ptx"

// MemoryThreads is how many threads a block of [ReadMemory] and [WriteMemory] has.
const MemoryThreads = 256

// ReadMemory makes a kernel that measures reading: it does little else. Its parameters are the
// memory, at a multiple of 16 bytes, room for four bytes a thread of the grid, and the number of
// 16-byte units to read. Each thread keeps a word of its reads, so that no read can be optimised
// away.
func ReadMemory() (*ptx.Kernel, error) {
	b := ptx.New("memory_read", MemoryThreads)
	from, sums, count := b.ParamGlobal("from"), b.ParamGlobal("sums"), b.ParamU32("quads")
	sum := ptx.NewVar(b, n(0))
	thread := eachQuad(b, count, func(i ptx.U32) {
		v := from.Index(i, quadBytes).LoadV4()
		sum.Set(sum.Get().Xor(v[0]).Xor(v[1]).Xor(v[2]).Xor(v[3]))
	})
	sums.Index(thread, 4).StoreU32(sum.Get())
	return b.Build()
}

// WriteMemory makes a kernel that writes to each 16 bytes of memory their number, four times. Its
// parameters are the memory and the number of units.
func WriteMemory() (*ptx.Kernel, error) {
	b := ptx.New("memory_write", MemoryThreads)
	to, count := b.ParamGlobal("to"), b.ParamU32("quads")
	eachQuad(b, count, func(i ptx.U32) {
		to.Index(i, quadBytes).StoreV4([4]ptx.U32{i, i, i, i})
	})
	return b.Build()
}

// eachQuad builds body for the quads of 16 bytes that this thread of the grid has to do, and
// returns the thread's number.
func eachQuad(b *ptx.Builder, count ptx.U32, body func(i ptx.U32)) (thread ptx.U32) {
	thread = b.CtaidX().Mad(n(MemoryThreads), b.TidX())
	step := b.NctaidX().Mul(n(MemoryThreads))
	i := ptx.NewVar(b, thread)
	b.While(func() ptx.Pred { return i.Get().Lt(count) }, func() {
		body(i.Get())
		i.Set(i.Get().Add(step))
	})
	return thread
}
