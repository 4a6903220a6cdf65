// SPDX-License-Identifier: Apache-2.0

package main

import "zramfs/gpu/ptx"

// What the small kernels are launched with.
const (
	tinyThreads = 256
	quadBytes   = 16
)

func n(i int) ptx.U32 { return ptx.N(uint32(i)) }

// addKernel adds one to a word, once a launch of one block.
func addKernel() (*ptx.Kernel, error) {
	b := ptx.New("check_add", ptx.WarpSize)
	counter := b.ParamGlobal("counter")
	b.When(b.LaneID().Eq(n(0)), func() { counter.AtomicAdd(n(1)) })
	return b.Build()
}

// spinKernel has one warp add up numbers until it has done so rounds times, so that a launch takes long and little of the device.
func spinKernel() (*ptx.Kernel, error) {
	b := ptx.New("check_spin", ptx.WarpSize)
	sums, rounds := b.ParamGlobal("sums"), b.ParamU32("rounds")
	sum := ptx.NewVar(b, b.LaneID())
	b.For(n(0), rounds, n(1), func(i ptx.U32) { sum.Set(sum.Get().Mad(n(5), i)) })
	sums.Index(b.LaneID(), 4).StoreU32(sum.Get())
	return b.Build()
}

// eachQuad builds body for the quads of 16 bytes of an array that this thread of the grid has to do.
func eachQuad(b *ptx.Builder, count ptx.U32, body func(i ptx.U32)) (thread ptx.U32) {
	thread = b.CtaidX().Mad(n(tinyThreads), b.TidX())
	step := b.NctaidX().Mul(n(tinyThreads))
	i := ptx.NewVar(b, thread)
	b.While(func() ptx.Pred { return i.Get().Lt(count) }, func() {
		body(i.Get())
		i.Set(i.Get().Add(step))
	})
	return thread
}

// readKernel reads an array and keeps a word of each thread, so that nothing that was read is left out.
func readKernel() (*ptx.Kernel, error) {
	b := ptx.New("check_read", tinyThreads)
	from, sums, count := b.ParamGlobal("from"), b.ParamGlobal("sums"), b.ParamU32("quads")
	sum := ptx.NewVar(b, n(0))
	thread := eachQuad(b, count, func(i ptx.U32) {
		v := from.Index(i, quadBytes).LoadV4()
		sum.Set(sum.Get().Xor(v[0]).Xor(v[1]).Xor(v[2]).Xor(v[3]))
	})
	sums.Index(thread, 4).StoreU32(sum.Get())
	return b.Build()
}

// writeKernel writes to each quad its number, four times.
func writeKernel() (*ptx.Kernel, error) {
	b := ptx.New("check_write", tinyThreads)
	to, count := b.ParamGlobal("to"), b.ParamU32("quads")
	eachQuad(b, count, func(i ptx.U32) {
		to.Index(i, quadBytes).StoreV4([4]ptx.U32{i, i, i, i})
	})
	return b.Build()
}

// build builds several, in order.
func build(makers ...func() (*ptx.Kernel, error)) ([]*ptx.Kernel, error) {
	all := make([]*ptx.Kernel, 0, len(makers))
	for _, m := range makers {
		k, err := m()
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}
