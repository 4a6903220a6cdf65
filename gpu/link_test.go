// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
)

// linkBytes is the memory that a test measures a link with.
const linkBytes = 128 << 10

// measureLink measures the link with two copies of n bytes of the engine's memory.
func (e *Engine) measureLink(ctx context.Context, n int) (l Link, err error) {
	var m LinkMemory
	for _, h := range []*driver.Host{&m.In, &m.Out} {
		if *h, err = e.host.Get(n); err != nil {
			return l, err
		}
	}
	for _, p := range []*driver.Pointer{&m.DeviceIn, &m.DeviceOut} {
		if *p, err = e.device.Get(n); err != nil {
			return l, err
		}
	}
	l, err = MeasureLink(ctx, e.context, m, 2)
	return l, errors.Join(err, e.host.Put(m.In), e.host.Put(m.Out), e.device.Put(m.DeviceIn), e.device.Put(m.DeviceOut))
}

// The speeds are those of the simulated link, up to twice as much both ways at once, and nothing is
// left behind.
func TestLinkIsMeasured(t *testing.T) {
	const speed = 100e6
	s := driver.NewSimulator(driver.SimulatedDevice{Link: speed})
	o := small()
	e := openEngine(t, s, o)
	l, err := e.measureLink(t.Context(), linkBytes)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]float64{"to the device": l.ToDevice, "from the device": l.FromDevice} {
		if got > 1.01*speed || got < speed/4 { // less while other processes have the processors
			t.Errorf("%s: %.0f bytes a second, the link has %.0f", name, got, speed)
		}
	}
	if l.BothWays > 2.02*speed || l.BothWays < speed/4 {
		t.Errorf("both ways: %.0f bytes a second, the link has %.0f each way", l.BothWays, speed)
	}
	if l.KernelReads <= 0 || l.KernelWrites <= 0 {
		t.Errorf("kernels: %+v", l)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if left := s.Leaks(0); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The error names the call that fails, and the measurement frees all but what a dead device loses.
func TestLinkWhoseCallsFail(t *testing.T) {
	for _, call := range []string{
		"cuStreamCreate", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync",
		"cuMemsetD8Async", "cuModuleLoadDataEx", "cuLaunchKernel", "cuEventSynchronize", "cuEventElapsedTime", "run copy", "run kernel",
	} {
		for _, code := range []driver.Code{driver.Unknown, driver.LaunchFailed} {
			if code == driver.Unknown && strings.HasPrefix(call, "run ") {
				continue // a failure on the device breaks it
			}
			s := simulated(1)
			e := openEngine(t, s, small())
			held := e.host.Stats().Used + e.device.Stats().Used
			s.Fail(call, 1, code)
			if l, err := e.measureLink(t.Context(), linkBytes); !errors.Is(err, code) || l != (Link{}) {
				t.Errorf("%s: %+v, %v", call, l, err)
			}
			if after := e.host.Stats().Used + e.device.Stats().Used; after != held {
				t.Errorf("%s: %d bytes are used, before it were %d", call, after, held)
			}
			dead := e.context.Err() != nil
			if err := e.Close(); err != nil && !dead {
				t.Errorf("%s: %v", call, err)
			}
			if left := s.Leaks(0); len(left) != 0 && !dead {
				t.Errorf("%s: left behind: %v", call, left)
			}
		}
	}
}

// After a failed measurement the device no longer touches the memory.
func TestLinkLeavesNothingUnderWay(t *testing.T) {
	s := simulated(1)
	e := openEngine(t, s, small())
	release := s.Hold(0)
	s.Fail("cuMemcpyHtoDAsync", 3, driver.Unknown)
	answer := make(chan error, 1)
	go func() {
		_, err := e.measureLink(context.Background(), linkBytes)
		answer <- err
	}()
	select {
	case err := <-answer:
		t.Errorf("with a fill under way it answers %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	release()
	if err := <-answer; !errors.Is(err, driver.Unknown) {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestLinkIsInterrupted(t *testing.T) {
	e := openEngine(t, simulated(1), small())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.measureLink(ctx, linkBytes); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestLinkOfTooLittleMemory(t *testing.T) {
	e := openEngine(t, simulated(1), small())
	for _, m := range []LinkMemory{{}, {In: e.slots[0].in, Out: e.slots[0].out.Slice(0, 64)}} {
		if _, err := MeasureLink(t.Context(), e.context, m, 1); !errors.Is(err, driver.ErrArgument) {
			t.Error(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// The engine ends its context once no user is left inside, since that frees the memory they use.
func TestStopWaitsForUsers(t *testing.T) {
	e := openEngine(t, simulated(1), small())
	if err := e.enter(); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		stopped <- e.stop()
	}()
	select {
	case err := <-stopped:
		t.Errorf("with a user inside it answers %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	e.mu.Lock()
	e.out()
	e.mu.Unlock()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if err := e.enter(); !errors.Is(err, bulk.ErrDead) {
		t.Errorf("afterwards a user gets %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
