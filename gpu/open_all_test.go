// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
)

func TestOpenAllWithoutDevices(t *testing.T) {
	none := func() (*driver.Driver, error) { return simulated(0).Driver() }
	old := driver.NewSimulator(driver.SimulatedDevice{Major: 6}).Driver
	for name, find := range map[string]func() (*driver.Driver, error){"none": none, "old": old} {
		if engines, err := OpenAll(find, small()); len(engines) != 0 || err == nil {
			t.Errorf("%s: %d engines, %v", name, len(engines), err)
		}
	}
}

// All devices are opened, or the named one. A device that cannot be used is reported, and the
// others are used. The driver is closed with the last engine, and not before.
func TestF041OpenSeveral(t *testing.T) {
	s := driver.NewSimulator(driver.SimulatedDevice{}, driver.SimulatedDevice{Major: 6}, driver.SimulatedDevice{})
	var library *driver.Driver
	find := func() (*driver.Driver, error) {
		var err error
		library, err = s.Driver()
		return library, err
	}
	for _, c := range []struct {
		device int
		names  string
		why    error
	}{
		{AllDevices, "gpu0 gpu2", driver.ErrDeviceTooOld}, {0, "gpu0", nil}, {2, "gpu2", nil}, {1, "", driver.ErrDeviceTooOld}, {3, "", driver.ErrArgument},
	} {
		o := small()
		o.Device = c.device
		opened, err := OpenAll(find, o)
		if !errors.Is(err, c.why) {
			t.Errorf("device %d: %v, want %v", c.device, err, c.why)
		}
		var names []string
		var engines []bulk.Engine
		for _, e := range opened {
			names, engines = append(names, e.Name()), append(engines, e)
		}
		if got := strings.Join(names, " "); got != c.names {
			t.Errorf("device %d: %q, want %q", c.device, got, c.names)
		}
		for _, e := range engines {
			if _, err := library.Open(0, driver.Options{}); err != nil {
				t.Errorf("the driver is closed before %s: %v", e.Name(), err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := library.Open(0, driver.Options{}); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("device %d: the driver is not closed: %v", c.device, err)
		}
	}
	for device := range 3 {
		if left := s.Leaks(device); len(left) != 0 {
			t.Errorf("device %d: left behind: %v", device, left)
		}
	}
}
