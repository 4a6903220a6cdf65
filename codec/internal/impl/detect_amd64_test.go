// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package impl

import (
	"slices"
	"testing"

	"golang.org/x/sys/cpu"
)

// A processor that lacks one of the things which the code for AVX2 uses gets none of that code, and
// none for AVX-512 either. LZCNT must not be forgotten: where it is missing it is another
// instruction, and makes other pages of what is swapped.
func TestEverythingUsedIsAskedFor(t *testing.T) {
	before := cpu.X86
	t.Cleanup(func() { cpu.X86 = before })
	x := &cpu.X86
	features := map[string]*bool{
		"AVX2": &x.HasAVX2, "BMI1": &x.HasBMI1, "BMI2": &x.HasBMI2, "LZCNT": &x.HasLZCNT, "SSSE3": &x.HasSSSE3, "OSXSAVE": &x.HasOSXSAVE,
	}
	for _, has := range []*bool{
		&x.HasCX16, &x.HasPOPCNT, &x.HasSSE42, &x.HasFMA, &x.HasAVX512F, &x.HasAVX512BW, &x.HasAVX512CD, &x.HasAVX512DQ, &x.HasAVX512VL,
		&x.HasAVX512VBMI, &x.HasAVX512VBMI2,
	} {
		*has = true
	}
	for _, has := range features {
		*has = true
	}
	if got := detected(); !slices.Equal(got, []Set{AVX512, AVX2}) {
		t.Fatalf("with everything: %v", got)
	}
	for name, has := range features {
		*has = false
		if got := detected(); len(got) != 0 {
			t.Errorf("without %s: %v", name, got)
		}
		*has = true
	}
}
