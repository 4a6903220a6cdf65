// SPDX-License-Identifier: Apache-2.0

package ptxas

import (
	"maps"
	"strconv"
	"strings"
	"testing"
)

// The output of ptxas 11.8 for two kernels. One of them spills.
const printed = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_70'
ptxas info    : Function properties for first
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 42 registers, 1024 bytes smem, 368 bytes cmem[0], 16 bytes cmem[2]
ptxas info    : Compiling entry function 'second' for 'sm_70'
ptxas info    : Function properties for second
    88 bytes stack frame, 84 bytes spill stores, 76 bytes spill loads
ptxas info    : Used 24 registers, 352 bytes cmem[0]
`

func TestParse(t *testing.T) {
	want := map[string]Usage{
		"first":  {Registers: 42, SharedBytes: 1024},
		"second": {Registers: 24, StackBytes: 88, SpillStores: 84, SpillLoads: 76},
	}
	if got := parse(printed); !maps.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A kernel that needs more registers than it is allowed: this shows that spills are seen if there
// are any.
func TestSpillsAreSeen(t *testing.T) {
	var text strings.Builder
	text.WriteString(".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry many(.param .u64 out)\n.maxnreg 24\n{\n.reg .b32 %r<64>;\n.reg .b64 %d<2>;\nld.param.u64 %d0, [out];\n")
	for i := range 64 {
		text.WriteString("ld.volatile.global.u32 %r" + strconv.Itoa(i) + ", [%d0];\n")
	}
	for i := range 64 {
		text.WriteString("st.volatile.global.u32 [%d0], %r" + strconv.Itoa(i) + ";\n")
	}
	text.WriteString("ret;\n}\n")
	u := Assemble(t, text.String(), "sm_70")["many"]
	if u.SpillStores == 0 || u.SpillLoads == 0 || u.Registers != 24 {
		t.Errorf("%+v", u)
	}
}
