// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
)

// callsSwapSize is a device without the process that frees slots, and with one area.
const callsSwapSize = "64M"

// TestSwapCallsOfUp fails the calls of up, of the keeper and of its worker: swap is on, or an error
// says why not and nothing else is left.
func TestSwapCallsOfUp(t *testing.T) {
	needCalls(t)
	s := startSupervisor(t)
	l := callLoop{name: "up", once: func(t *testing.T, arm armed) failing {
		dir := swapDir(t)
		a := s.run(t, &arm, "up", "--size", callsSwapSize, dir)
		wantClear(t, a)
		if a.Result.Code == 0 {
			oneSwap(t, dir)
			mustRun(t, downTimeout, "down", dir)
		}
		wantNothingLeft(t, dir)
		return a.Failing
	}}
	l.run(t)
}

// TestSwapCallsOfDown fails the calls of down and of the processes of the device, with pages in
// swap: swap is off and all is gone, or an error says why not, and another down ends the rest. No
// page is lost.
func TestSwapCallsOfDown(t *testing.T) {
	needCalls(t)
	s := startSupervisor(t)
	m := startMemory(t, memoryOrder{Pages: 8 << 20 / memoryPage, Source: sourceMix})
	m.do(t, "fill")
	l := callLoop{name: "down", once: func(t *testing.T, arm armed) failing {
		dir := swapDir(t)
		s.mustRun(t, "up", "--size", callsSwapSize, dir)
		m.do(t, "pageout")
		a := s.run(t, &arm, "down", dir)
		wantClear(t, a)
		if a.Result.Code != 0 {
			mustRun(t, downTimeout, "down", "--force", dir)
		}
		m.do(t, "walk")
		wantNothingLeft(t, dir)
		return a.Failing
	}}
	l.run(t)
	m.end(t)
}
