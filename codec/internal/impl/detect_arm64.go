// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package impl

import "github.com/klauspost/cpuid/v2"

// detected returns the sets of this CPU, best first, without Generic.
func detected() []Set {
	if cpuid.CPU.Supports(cpuid.ASIMD) {
		return []Set{NEON}
	}
	return nil
}
