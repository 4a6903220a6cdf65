// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// A Sample is what is known of a device at a time.
type Sample struct {
	At     time.Time // of the answer
	Device devices.Device
	// Problems are those of devices.Diagnose.
	Problems []devices.Problem
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
		s.Pressure, s.PressureKnown = host.Local.MemoryPressure()
		samples[i] = s
	}
	return samples, nil
}
