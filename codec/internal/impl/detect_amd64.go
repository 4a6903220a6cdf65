// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package impl

import "github.com/klauspost/cpuid/v2"

// detected returns the sets of this CPU that the operating system saves the registers of, best
// first, without Generic.
//
// AVX2 stands for x86-64-v3. LZCNT is asked for by itself: without it a processor, or an emulator,
// takes the instruction for another one and raises no fault, and encoders would make objects of
// other pages. Nothing here uses MOVBE, F16C and LAHF.
func detected() []Set {
	has := cpuid.CPU.Supports
	switch {
	case !has(cpuid.CX16, cpuid.POPCNT, cpuid.SSE42, cpuid.SSSE3, cpuid.OSXSAVE, cpuid.AVX2, cpuid.BMI1, cpuid.BMI2, cpuid.LZCNT, cpuid.FMA3):
		return nil
	case has(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512CD, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512VBMI, cpuid.AVX512VBMI2):
		return []Set{AVX512, AVX2}
	}
	return []Set{AVX2}
}
