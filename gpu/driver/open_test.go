// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestF049OldDevicesAreRefused(t *testing.T) {
	s := NewSimulator(SimulatedDevice{Name: "Pascal", Major: 6, Minor: 1}, SimulatedDevice{Name: "Volta", Major: 7})
	d, err := s.Driver()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	if len(d.Devices()) != 2 || d.Version() != "CUDA 12.2" {
		t.Errorf("devices %v of %s", d.Devices(), d.Version())
	}
	if _, err := d.Open(0, Options{}); !errors.Is(err, ErrDeviceTooOld) || !strings.Contains(err.Error(), "device 0, Pascal, has 6.1") {
		t.Errorf("open answers %v", err)
	}
	if _, err := d.Open(1, Options{}); err != nil {
		t.Error(err)
	}
}

// There are three reasons for there being no GPU, and each is told with what to do about it.
func TestReasonsForNoGPU(t *testing.T) {
	old := NewSimulator(SimulatedDevice{})
	old.SetVersion(10020)
	stub, mismatch := NewSimulator(SimulatedDevice{}), NewSimulator(SimulatedDevice{})
	stub.Fail("cuInit", 1, StubLibrary)
	mismatch.Fail("cuInit", 1, DriverMismatch)
	for _, c := range []struct {
		simulator *Simulator
		want      error
		says      string
	}{
		{NewSimulator(), ErrNoDevice, "CUDA_VISIBLE_DEVICES"},
		{old, ErrDriverTooOld, "knows CUDA 10.2"},
		{mismatch, ErrDriverTooOld, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"},
		{stub, ErrNoLibrary, "NVIDIA_DRIVER_CAPABILITIES=compute"},
	} {
		_, err := c.simulator.Driver()
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v, want %v that says %q", err, c.want, c.says)
		}
		for _, other := range []error{ErrNoLibrary, ErrNoDevice, ErrDriverTooOld} {
			if other != c.want && errors.Is(err, other) {
				t.Errorf("error %v is %v as well", err, other)
			}
		}
	}
}

func TestCodes(t *testing.T) {
	if got := Code(12345).Error(); got != "CUDA error 12345" {
		t.Errorf("an unknown code is %q", got)
	}
	err := error(newError("cuMemAlloc", OutOfMemory, nil))
	if got := err.Error(); got != "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)" {
		t.Errorf("error is %q", got)
	}
	// The codes after which CUDA's manual demands a restart of the process, except 999, for which
	// it demands much else too.
	for code := range Code(1000) {
		want := slices.Contains([]Code{4, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810}, code)
		if code.Sticky() != want {
			t.Errorf("%v (%d): sticky %v, want %v", code, uint32(code), code.Sticky(), want)
		}
	}
}
