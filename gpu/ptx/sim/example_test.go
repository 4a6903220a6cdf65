// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// A kernel reverses the lanes of a warp through shared memory. Without the barrier it would be a
// race; and the buffer is too short for two blocks.
func ExampleDevice_Launch() {
	b := ptx.New("reverse", 32)
	out := b.ParamGlobal("out")
	a, lane := b.Shared("a", 128, 4), b.LaneID()
	a.Add(lane.Shl(n(2))).StoreU32(lane)
	b.WarpSync()
	reversed := a.Add(lane.Xor(n(31)).Shl(n(2))).LoadU32()
	out.Index(b.CtaidX().Mad(n(32), lane), 4).StoreU32(reversed)
	k, err := b.Build()
	if err != nil {
		fmt.Println(err)
		return
	}

	d := &sim.Device{Memory: sim.NewMemory(1 << 20)}
	address, err := d.Memory.Alloc(sim.Spec{Name: "out", Size: 240, Stride: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	stats, err := d.Launch(k, 1, k.Threads(), address)
	fmt.Println(stats.Instructions, stats.Stores.Sectors, err)

	_, err = d.Launch(k, 2, k.Threads(), address)
	fmt.Println(strings.ReplaceAll(err.Error(), ": ", ":\n"))
	fmt.Println(errors.Is(err, sim.ErrOutOfBounds))
	// Output:
	// 16 4 <nil>
	// reverse:
	// example_test.go:23:
	// outside of the memory:
	// st.global.u32 (block 1, warp 0, lane 28):
	// 4 bytes at out[60]+0 of 240 bytes
	// true
}
