// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"os"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/internal/host"
)

// cpuTime returns the processor time of the keeper and of all its workers, this one included. It
// never decreases: what a worker has taken when it ends is at least what it has said before. The
// caller holds w.reading.
func (w *worker) cpuTime() time.Duration {
	if w.kept.Load() {
		if keeper, ok := host.Local.Process(os.Getppid()); ok && keeper.PID == w.facts.PID {
			w.keeperTime = max(w.keeperTime, keeper.CPU)
		}
	}
	total := w.facts.CPU + w.keeperTime
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return total
	}
	return total + time.Duration(own.Utime.Nano()+own.Stime.Nano())
}

// spent returns the processor time of a worker that has ended.
func (p *process) spent() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.cmd.ProcessState == nil {
		return 0
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}
