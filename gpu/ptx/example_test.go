// SPDX-License-Identifier: Apache-2.0

package ptx_test

import (
	"fmt"
	"strings"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// A kernel in which each warp sums one row of 4,096 bytes: the lanes add up words side by side,
// then one another's sums.
func Example() {
	n := ptx.N
	b := ptx.New("sum_rows", 128)
	rows := b.ParamGlobal("rows")
	sums := b.ParamGlobal("sums")
	count := b.ParamU32("count")

	row := b.CtaidX().Mad(b.Warps(), b.WarpID())
	b.If(row.Lt(count), func() {
		lane := b.LaneID()
		mine := rows.Index(row, 4096).Index(lane, 4)
		sum := ptx.NewVar(b, n(0))
		b.For(n(0), n(4096/4), n(32), func(i ptx.U32) {
			sum.Set(sum.Get().Add(mine.Index(i, 4).LoadU32()))
		})
		for distance := uint32(16); distance > 0; distance /= 2 {
			sum.Set(sum.Get().Add(b.ShflBfly(sum.Get(), n(distance))))
		}
		b.When(lane.Eq(n(0)), func() {
			sums.Index(row, 4).StoreU32(sum.Get())
		})
	})

	k, err := b.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(k.PTX())
	// Output:
	// .version 6.0
	// .target sm_70
	// .address_size 64
	//
	// .visible .entry sum_rows(
	// 	.param .u64 param_rows,
	// 	.param .u64 param_sums,
	// 	.param .u32 param_count
	// )
	// .reqntid 128, 1, 1
	// {
	// 	.reg .pred %p<3>;
	// 	.reg .b32 %r<14>;
	// 	.reg .b64 %g<6>;
	//
	// 	ld.param.u64 %g0, [param_rows];
	// 	ld.param.u64 %g1, [param_sums];
	// 	ld.param.u32 %r0, [param_count];
	// 	mov.u32 %r1, %ctaid.x;
	// 	mov.u32 %r2, %tid.x;
	// 	shr.u32 %r3, %r2, 5;
	// 	mad.lo.u32 %r4, %r1, 4, %r3;
	// 	setp.lt.u32 %p0, %r4, %r0;
	// 	@!%p0 bra.uni L3;
	// 	mov.u32 %r5, %laneid;
	// 	mad.wide.u32 %g2, %r4, 4096, %g0;
	// 	mad.wide.u32 %g3, %r5, 4, %g2;
	// 	mov.u32 %r6, 0;
	// 	mov.u32 %r7, 0;
	// L1:
	// 	setp.lt.u32 %p1, %r7, 1024;
	// 	@!%p1 bra.uni L2;
	// 	mad.wide.u32 %g4, %r7, 4, %g3;
	// 	ld.global.u32 %r8, [%g4];
	// 	add.u32 %r6, %r6, %r8;
	// 	add.u32 %r7, %r7, 32;
	// 	bra.uni L1;
	// L2:
	// 	shfl.sync.bfly.b32 %r9, %r6, 16, 31, 0xffffffff;
	// 	add.u32 %r6, %r6, %r9;
	// 	shfl.sync.bfly.b32 %r10, %r6, 8, 31, 0xffffffff;
	// 	add.u32 %r6, %r6, %r10;
	// 	shfl.sync.bfly.b32 %r11, %r6, 4, 31, 0xffffffff;
	// 	add.u32 %r6, %r6, %r11;
	// 	shfl.sync.bfly.b32 %r12, %r6, 2, 31, 0xffffffff;
	// 	add.u32 %r6, %r6, %r12;
	// 	shfl.sync.bfly.b32 %r13, %r6, 1, 31, 0xffffffff;
	// 	add.u32 %r6, %r6, %r13;
	// 	setp.eq.u32 %p2, %r5, 0;
	// 	@%p2 mad.wide.u32 %g5, %r4, 4, %g1;
	// 	@%p2 st.global.u32 [%g5], %r6;
	// L3:
	// 	ret;
	// }
}

// A shuffle where some lanes are absent is refused, with the line that asks for it.
func ExampleBuilder_Build() {
	b := ptx.New("wrong", 32)
	lane := b.LaneID()
	b.If(lane.Lt(ptx.N(16)), func() {
		b.ShflIdx(lane, ptx.N(0))
	})
	_, err := b.Build()
	fmt.Println(strings.NewReplacer(": ", ":\n", " (", "\n(").Replace(err.Error()))
	// Output:
	// kernel wrong:
	// example_test.go:105:
	// shfl.sync.idx.b32 is for threads that are together
	// (uniform in the warp), but a condition here is varying
}
