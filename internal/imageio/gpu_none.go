// SPDX-License-Identifier: Apache-2.0

//go:build !(cuda && linux && (amd64 || arm64))

package imageio

// Kinds returns the kinds of engine that this program was built with: none.
func Kinds() []Kind { return nil }
