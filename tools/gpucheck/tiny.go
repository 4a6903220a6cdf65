// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/zramfs/zramfs/gpu/ptx"

func n(i int) ptx.U32 { return ptx.N(uint32(i)) }

// addKernel returns a kernel that adds one to a word, in one block.
func addKernel() (*ptx.Kernel, error) {
	b := ptx.New("check_add", ptx.WarpSize)
	counter := b.ParamGlobal("counter")
	b.When(b.LaneID().Eq(n(0)), func() { counter.AtomicAdd(n(1)) })
	return b.Build()
}

// spinKernel returns a kernel of one warp that adds numbers for a number of rounds: a launch takes
// long and uses little of the device.
func spinKernel() (*ptx.Kernel, error) {
	b := ptx.New("check_spin", ptx.WarpSize)
	sums, rounds := b.ParamGlobal("sums"), b.ParamU32("rounds")
	sum := ptx.NewVar(b, b.LaneID())
	b.For(n(0), rounds, n(1), func(i ptx.U32) { sum.Set(sum.Get().Mad(n(5), i)) })
	sums.Index(b.LaneID(), 4).StoreU32(sum.Get())
	return b.Build()
}

// build builds several kernels in order.
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
