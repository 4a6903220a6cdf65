// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/pmqos"
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

// With the request held too, where the machine has it.
func TestWakeUpCostHeld(t *testing.T) {
	require.Root(t)
	if err := pmqos.Available(host.Local); err != nil {
		t.Skip(err)
	}
	if got, err := wakeUpCost(true); err != nil || got.Same.P50 <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
