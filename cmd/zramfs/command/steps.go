// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"

	"github.com/schollz/progressbar/v3"
)

// steps is the progress of work that is counted in steps of its own: each call of show adds to what was done.
type steps struct{ *progressbar.ProgressBar }

// newSteps shows the progress of something on out, where that is a terminal, and nothing anywhere else.
func newSteps(out io.Writer, what string, total int64) progress {
	if !isTerminal(out) || total <= 0 {
		return nothing{}
	}
	return steps{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(20),
		progressbar.OptionThrottle(progressPause),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	)}
}

func (s steps) show(more uint64) error { return s.Add64(int64(more)) }
func (s steps) end() error             { return s.Finish() }
