// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/zramfs/zramfs/gpu/ptx"

func n(i int) ptx.U32 { return ptx.N(uint32(i)) }

// addKernel adds one to a word, once a launch of one block.
func addKernel() (*ptx.Kernel, error) {
	b := ptx.New("check_add", ptx.WarpSize)
	counter := b.ParamGlobal("counter")
	b.When(b.LaneID().Eq(n(0)), func() { counter.AtomicAdd(n(1)) })
	return b.Build()
}

// spinKernel has one warp add up numbers until it has done so rounds times, so that a launch takes
// long and little of the device.
func spinKernel() (*ptx.Kernel, error) {
	b := ptx.New("check_spin", ptx.WarpSize)
	sums, rounds := b.ParamGlobal("sums"), b.ParamU32("rounds")
	sum := ptx.NewVar(b, b.LaneID())
	b.For(n(0), rounds, n(1), func(i ptx.U32) { sum.Set(sum.Get().Mad(n(5), i)) })
	sums.Index(b.LaneID(), 4).StoreU32(sum.Get())
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
