// SPDX-License-Identifier: Apache-2.0

package world

// Copy stands in for a copy to memory that outlives the process, which may die within it.
func Copy[T any](dst, src []T) int {
	n := min(len(dst), len(src))
	if n > 64 {
		Step()
		part := n / 64 * int(left&63)
		if the != nil && the.watch != nil {
			part = n / 2
		}
		copy(dst[:part], src)
		Step()
	}
	return copy(dst, src)
}
