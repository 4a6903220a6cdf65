// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package impl

import "github.com/klauspost/cpuid/v2"

// detected returns the sets of this CPU that the operating system saves the registers of, best
// first, without Generic.
func detected() []Set {
	var sets []Set
	if cpuid.CPU.X64Level() >= 4 && cpuid.CPU.Supports(cpuid.AVX512VBMI, cpuid.AVX512VBMI2) {
		sets = append(sets, AVX512)
	}
	if cpuid.CPU.X64Level() >= 3 {
		sets = append(sets, AVX2)
	}
	return sets
}
