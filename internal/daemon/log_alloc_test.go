// SPDX-License-Identifier: Apache-2.0

//go:build !race

package daemon

import "testing"

// Corrupt, which the page path calls, allocates nothing.
func TestCorruptAllocatesNothing(t *testing.T) {
	sink := &gatedSink{gate: make(chan struct{})}
	logs := newLogs(sink)
	if n := testing.AllocsPerRun(1000, func() { logs.Corrupt(42) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
	close(sink.gate)
	if err := logs.Close(); err != nil {
		t.Fatal(err)
	}
}
