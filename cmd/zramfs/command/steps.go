// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"time"
)

// steps is the progress of work that is counted in steps of its own: each call of show adds to what
// was done.
type steps struct{ *bar }

// newSteps shows the progress of something on out, where that is a terminal, and nothing anywhere
// else.
func newSteps(out io.Writer, what string, total int64) progress {
	if !isTerminal(out) || total <= 0 {
		return nothing{}
	}
	return steps{&bar{out: out, what: what, total: uint64(total), began: time.Now(), pause: progressPause}}
}

func (s steps) show(more uint64) error { return s.bar.show(s.done + more) }
