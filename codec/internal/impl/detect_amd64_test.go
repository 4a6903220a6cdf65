// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package impl

import (
	"slices"
	"testing"

	"github.com/klauspost/cpuid/v2"
)

// A processor that lacks one of the things which the code for AVX2 uses gets none of that code, and
// none for AVX-512 either. LZCNT must not be forgotten: where it is missing it is another
// instruction, and makes other pages of what is swapped.
func TestEverythingUsedIsAskedFor(t *testing.T) {
	before := cpuid.CPU
	t.Cleanup(func() { cpuid.CPU = before })
	features := []cpuid.FeatureID{cpuid.AVX2, cpuid.BMI1, cpuid.BMI2, cpuid.LZCNT, cpuid.SSSE3, cpuid.OSXSAVE}
	cpuid.CPU.Enable(features...)
	cpuid.CPU.Enable(cpuid.CX16, cpuid.POPCNT, cpuid.SSE42, cpuid.FMA3, cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512CD, cpuid.AVX512DQ, cpuid.AVX512VL,
		cpuid.AVX512VBMI, cpuid.AVX512VBMI2)
	if got := detected(); !slices.Equal(got, []Set{AVX512, AVX2}) {
		t.Fatalf("with everything: %v", got)
	}
	for _, feature := range features {
		cpuid.CPU.Disable(feature)
		if got := detected(); len(got) != 0 {
			t.Errorf("without %s: %v", feature, got)
		}
		cpuid.CPU.Enable(feature)
	}
}
