// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"math"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/require"
)

// TestMinuteAndCPUOutliveWorkers: the rates of the last minute are those of what was done, also by
// workers that were killed or upgraded, whose processor time stays counted too.
func TestMinuteAndCPUOutliveWorkers(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	fd := int(openData(t, dir, unix.O_DIRECT).Fd())
	c := newCrashing(t, dir)
	began := time.Now()
	var done tally
	cpu := 0.0
	for round, replace := range []func(){c.kill, func() { mustRun(t, commandTimeout, "upgrade", dir) }, func() {}} {
		for range 50 {
			w := work(t, fd, byte(round))
			done.pagesRead, done.pagesWritten = done.pagesRead+w.pagesRead, done.pagesWritten+w.pagesWritten
		}
		s := statusOf(t, dir)
		worker, ok := host.Local.Process(s.WorkerPID)
		keeper, here := host.Local.Process(s.KeeperPID)
		s = statusOf(t, dir)
		if !ok || !here || worker.CPU == 0 || s.CPUSeconds < cpu || s.CPUSeconds < (worker.CPU+keeper.CPU).Seconds() {
			t.Errorf("round %d: %.3f s of processor time after %.3f, the worker has %v and the keeper %v", round, s.CPUSeconds, cpu, worker.CPU, keeper.CPU)
		}
		cpu = s.CPUSeconds
		replace()
		s = statusOf(t, dir)
		if s.CPUSeconds < cpu {
			t.Errorf("round %d: %.3f s of processor time after %.3f", round, s.CPUSeconds, cpu)
		}
		if took := time.Since(began); took > 50*time.Second {
			t.Skipf("the rates are over a minute, this took %v", took)
		}
		m := s.LastMinute
		in, out := math.Round(m.In.Pages*m.Seconds), math.Round(m.Out.Pages*m.Seconds)
		if in != float64(done.pagesRead) || out != float64(done.pagesWritten) || m.In.P50 == 0 || m.In.P99 < m.In.P50 {
			t.Errorf("round %d: %v pages in and %v out in the last %.1f s, want %d and %d: %+v", round, in, out, m.Seconds,
				done.pagesRead, done.pagesWritten, m)
		}
	}
}
