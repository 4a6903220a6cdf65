// SPDX-License-Identifier: Apache-2.0

package idlework

import (
	"runtime"
	"strconv"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
)

// Programs that wait for a processor, or for memory, in more than this share of the last ten
// seconds, in per cent, have packing wait.
const (
	mostProcessor = 25
	mostMemory    = 10
)

// Throttle says why work has to wait for the programs of a machine; empty where it need not. It is
// safe for concurrent use.
type Throttle func() (reason string)

// LowPriority does work on a thread that other threads of the process go before, and returns when
// the work is done.
type LowPriority func(work func())

// ThrottleOf returns what is so for a machine. Without the kernel's pressure (CONFIG_PSI) the load
// average counts.
func ThrottleOf(m host.Root) Throttle {
	return func() string { return busy(m) }
}

func busy(m host.Root) string {
	if waits, known := m.Pressure(); known && waits > mostMemory {
		return "programs wait for memory"
	}
	waits, known := m.ProcessorPressure()
	if !known {
		text, err := m.Read("proc/loadavg")
		first, _, _ := strings.Cut(text, " ")
		load, perr := strconv.ParseFloat(first, 64)
		if err == nil && perr == nil && load > float64(runtime.NumCPU()) {
			waits = 100
		}
	}
	if waits > mostProcessor {
		return "programs wait for processors"
	}
	return ""
}
