// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package impl

import "golang.org/x/sys/cpu"

// detected returns the sets of this CPU, best first, without Generic.
func detected() []Set {
	if cpu.ARM64.HasASIMD {
		return []Set{NEON}
	}
	return nil
}
