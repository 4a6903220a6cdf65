// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// A wake-up takes time, and few take longer than the median.
func TestWakeUpCost(t *testing.T) {
	got, err := wakeUpCost(false)
	if err != nil {
		t.Fatal(err)
	}
	for name, delay := range map[string]wakeDelay{"two CPUs": got.Between, "one CPU": got.Same} {
		if name == "two CPUs" && runtime.NumCPU() < 2 {
			continue
		}
		if delay.P50 <= 0 || delay.P99 < delay.P50 {
			t.Errorf("%s: %+v", name, delay)
		}
	}
}

// While the request is held, the kernel's bound is 0 us.
func TestHoldLatency(t *testing.T) {
	require.Root(t)
	request, err := holdLatency()
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("this machine has no", latencyRequest)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(latencyRequest)
	if err != nil {
		t.Fatal(err)
	}
	bound := make([]byte, 4)
	if _, err := file.Read(bound); err != nil {
		t.Error(err)
	}
	if got := binary.NativeEndian.Uint32(bound); got != 0 {
		t.Errorf("the bound is %d us", got)
	}
	if err := errors.Join(file.Close(), request.Close()); err != nil {
		t.Error(err)
	}
	if _, err := wakeUpCost(true); err != nil {
		t.Error(err)
	}
}

// A thread whose partner has gone reports an error and does not wait for ever.
func TestPingerWithoutPartner(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	alone := &pinger{in: int(in.Fd()), out: int(out.Fd()), message: make([]byte, messageSize)}
	alone.address = addressOf(alone.message)
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := alone.receive(); err == nil {
		t.Error("a message came from nowhere")
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}
