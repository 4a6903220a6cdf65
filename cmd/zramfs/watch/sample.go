// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// A Sample is what is known of a device at a time.
type Sample struct {
	At     time.Time // of the answer
	Device devices.Device
	// Problems are those of devices.Diagnose.
	Problems []devices.Problem
	// Serving are its keeper and worker as this PID namespace shows them; none where it does not.
	Serving []host.Process
	// Pressure is the machine's; PressureKnown is false where the kernel does not tell it.
	Pressure      host.MemoryPressure
	PressureKnown bool
}

// Take looks at the named devices, or at all for no names. Names and errors are those of
// devices.Find: ErrNotRunning for a name without a device. It takes little more than
// aside.AnswerTime where a device does not answer.
func Take(names ...string) ([]Sample, error) {
	found, err := devices.Find(names...)
	if err != nil {
		return nil, err
	}
	samples := make([]Sample, len(found))
	for i, d := range found {
		s := Sample{At: time.Now(), Device: d}
		s.Problems = devices.Diagnose(d, s.At)
		s.Serving = serving(host.Local, d)
		s.Pressure, s.PressureKnown = host.Local.MemoryPressure()
		samples[i] = s
	}
	return samples, nil
}

// serving returns the processes of a device. Its status has their numbers in their own PID
// namespace, so they are found by the keeper.
func serving(m host.Root, d devices.Device) []host.Process {
	keeper, ok := m.Process(d.Keeper)
	if !ok || d.Status == nil {
		return nil
	}
	found := []host.Process{keeper}
	worker, ok := m.Process(d.Status.WorkerPID)
	if ok && worker.Parent == keeper.PID {
		return append(found, worker)
	}
	named := m.ProcessesNamed(daemon.ProcessName)
	return append(found, slices.DeleteFunc(named, func(p host.Process) bool { return p.Parent != keeper.PID })...)
}
