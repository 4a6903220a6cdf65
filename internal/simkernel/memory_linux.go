// SPDX-License-Identifier: Apache-2.0

package simkernel

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
		the.tear()
		Step()
	}
	return copy(dst, src)
}

// tear lets the running process die, if it is to die within this copy.
func (w *World) tear() {
	if w == nil || w.running.process.torn == 0 || w.running.dying {
		return
	}
	p := w.running.process
	if p.torn--; p.torn == 0 {
		p.Kill()
	}
}
