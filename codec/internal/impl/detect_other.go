// SPDX-License-Identifier: Apache-2.0

//go:build purego || !(amd64 || arm64)

package impl

// detected returns the sets of this CPU, best first, without Generic: nothing was written for it,
// or it is not wanted.
func detected() []Set { return nil }
