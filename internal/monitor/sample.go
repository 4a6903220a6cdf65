// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// A Sample is what is known of a device at a time.
type Sample struct {
	At     time.Time // of the answer
	Device swapdev.Device
	// Problems are those of swapdev.Diagnose.
	Problems []swapdev.Problem
	// Pressure is the machine's; PressureKnown is false where the kernel does not tell it.
	Pressure      host.MemoryPressure
	PressureKnown bool
}

// Take looks at the named devices, or at all for no names. Names and errors are those of
// swapdev.Find: ErrNotRunning for a name without a device. It takes little more than
// helper.AnswerTime where a device does not answer.
func Take(names ...string) ([]Sample, error) {
	found, err := swapdev.Find(names...)
	if err != nil {
		return nil, err
	}
	samples := make([]Sample, len(found))
	for i, d := range found {
		samples[i] = newSample(d, time.Now())
		samples[i].Pressure, samples[i].PressureKnown = host.Local.MemoryPressure()
	}
	return samples, nil
}

// newSample returns what is known of d, whose time is that of its own answer: another device may
// have kept the look waiting until now.
func newSample(d swapdev.Device, now time.Time) Sample {
	s := Sample{At: now, Device: d, Problems: swapdev.Diagnose(d, now)}
	if !d.Answered.IsZero() {
		s.At = d.Answered
	}
	return s
}
