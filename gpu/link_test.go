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

// What is measured of a link is what it is: copies as fast as it, at most so much faster both ways
// at once as there are two, and nothing is left behind.
func TestLinkIsMeasured(t *testing.T) {
	const speed = 100e6
	s := driver.NewSimulator(driver.SimulatedDevice{Link: speed})
	o := small()
	e := openEngine(t, s, o)
	before := e.host.Stats().Held + e.device.Stats().Held
	l, err := e.Link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]float64{"to the device": l.ToDevice, "from the device": l.FromDevice} {
		if got > 1.01*speed || got < speed/4 { // less while somebody else has the processors
			t.Errorf("%s: %.0f bytes a second, the link has %.0f", name, got, speed)
		}
	}
	if l.BothWays > 2.02*speed || l.BothWays < speed/4 {
		t.Errorf("both ways: %.0f bytes a second, the link has %.0f each way", l.BothWays, speed)
	}
	if l.KernelReads <= 0 || l.KernelWrites <= 0 {
		t.Errorf("kernels: %+v", l)
	}
	if after := e.host.Stats().Held + e.device.Stats().Held; after != before {
		t.Errorf("%d bytes are held, before it were %d", after, before)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if left := s.Leaks(0); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Whatever call fails, the error says so, and what is not lost with the device is given back.
func TestLinkWhoseCallsFail(t *testing.T) {
	for _, call := range []string{
		"cuMemHostAlloc", "cuMemAlloc", "cuStreamCreate", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync",
		"cuMemsetD8Async", "cuModuleLoadDataEx", "cuLaunchKernel", "cuEventSynchronize", "cuEventElapsedTime", "run copy", "run kernel",
	} {
		for _, code := range []driver.Code{driver.Unknown, driver.LaunchFailed} {
			if code == driver.Unknown && strings.HasPrefix(call, "run ") {
				continue // what fails on the device breaks it
			}
			s := simulated(1)
			e := openEngine(t, s, small())
			held := e.host.Stats().Used + e.device.Stats().Used
			s.Fail(call, 1, code)
			if l, err := e.Link(t.Context()); !errors.Is(err, code) || l != (bulk.Link{}) {
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
		_, err := e.Link(context.Background())
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
	if _, err := e.Link(ctx); !errors.Is(err, context.Canceled) {
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

// The context is not ended under a measurement that is under way, whose memory would be gone with
// it.
func TestLinkEndsBeforeTheEngineIsStopped(t *testing.T) {
	s := simulated(1)
	e := openEngine(t, s, small())
	release := s.Hold(0)
	link, stopped := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := e.Link(context.Background())
		link <- err
	}()
	for s.Calls()["cuMemsetD8Async"] == 0 {
		time.Sleep(time.Millisecond)
	}
	go func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		stopped <- e.stop()
	}()
	// Stop waits without the lock for all uses inside, and holds it while it ends the context.
	for stopping, from := false, time.Now(); !stopping && time.Since(from) < time.Second; time.Sleep(time.Millisecond) {
		if e.mu.TryLock() {
			stopping = e.stopped
			e.mu.Unlock()
		}
	}
	release()
	if err := <-link; err != nil {
		t.Errorf("the measurement ends with %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if _, err := e.Link(context.Background()); !errors.Is(err, bulk.ErrDead) {
		t.Errorf("afterwards it answers %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
