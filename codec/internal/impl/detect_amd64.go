// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package impl

import "golang.org/x/sys/cpu"

// detected returns the sets of this CPU that the operating system saves the registers of, best
// first, without Generic.
//
// AVX2 stands for x86-64-v3. LZCNT is asked for by itself: without it a processor, or an emulator,
// takes the instruction for another one and raises no fault, and encoders would make objects of
// other pages. Nothing here uses MOVBE, F16C and LAHF.
func detected() (sets []Set) {
	x := &cpu.X86
	if !x.HasCX16 || !x.HasPOPCNT || !x.HasSSE42 || !x.HasSSSE3 || !x.HasOSXSAVE || !x.HasAVX2 || !x.HasBMI1 || !x.HasBMI2 || !x.HasLZCNT ||
		!x.HasFMA {
		return nil
	}
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512CD && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512VBMI && x.HasAVX512VBMI2 {
		sets = append(sets, AVX512)
	}
	return append(sets, AVX2)
}
