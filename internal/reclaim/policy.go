// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"fmt"
	"time"
)

// A Policy says how much memory a group may be asked for. It is immutable.
type Policy struct {
	// Interval is from one look at a group to the next.
	Interval time.Duration
	// Pressure is the share of the time that tasks of a group may wait for memory, and for
	// input or output, from 0 to 1. Where they wait longer the group is left alone.
	Pressure float64
	// Probe is the share of a group's memory that is asked for in an interval at the most.
	Probe float64
	// Full is the share of all swap, and of a device's memory limit, from which on no group is
	// asked for anything.
	Full float64
	// SwapRate is how many bytes a second the machine may write to swap on the average of an
	// interval; beyond it the next interval passes without a request.
	SwapRate uint64
	// Floor is the memory of a group in bytes that it is left.
	Floor uint64
}

// Default has the numbers of senpai: of senpai.py the interval, the floor and the form of Next, of
// oomd's plugin the others.
var Default = Policy{Interval: 6 * time.Second, Pressure: 0.001, Probe: 0.01, Full: 0.8, SwapRate: 1 << 20, Floor: 100 << 20}

// calm is the divisor of the pressure below which a group is asked for all of Probe (coeff_probe in
// senpai.py).
const calm = 10

// A Look is what was seen of a group, and of the machine, since the look before.
type Look struct {
	Since      time.Duration // 0 for the first look
	Memory, IO time.Duration // for how long some task of the group has waited
	Blind      bool          // the kernel does not tell for how long they wait for memory
	Current    uint64        // the group's memory in bytes
	Swap       float64       // share of all swap in use; 1 where there is none
	Device     float64       // share of its memory limit that the fullest device takes; 1 where one does not answer
	SwappedOut uint64        // bytes that the machine has written to swap
}

// A Step says what becomes of a look.
type Step struct {
	Bytes  uint64 // to ask for
	Reason string // why nothing is asked for; empty where something is
}

// Next returns the step after a look: Probe of the group's memory while its tasks wait for a tenth
// of Pressure at the most, and with the square of that less the longer they wait.
func (p Policy) Next(l Look) Step {
	if reason := p.against(l); reason != "" {
		return Step{Reason: reason}
	}
	share := p.Probe
	if waited := p.share(max(l.Memory, l.IO), l.Since); waited > p.Pressure/calm {
		part := p.Pressure / calm / waited
		share *= part * part
	}
	bytes := min(uint64(share*float64(l.Current)), l.Current-p.Floor)
	if bytes < least {
		return Step{Reason: "there is little to ask for"}
	}
	return Step{Bytes: bytes}
}

// least is the least number of bytes worth a request: 16 pages, half of what the kernel reclaims at
// a time (SWAP_CLUSTER_MAX).
const least = 16 * 4096

// against says why a group is left alone.
func (p Policy) against(l Look) string {
	switch {
	case l.Blind:
		return "the kernel does not tell for how long its programs wait"
	case l.Since <= 0:
		return "it is seen for the first time"
	case l.Swap >= 1:
		return "no swap is free"
	case l.Swap >= p.Full:
		return fmt.Sprintf("%.0f %% of swap are in use", 100*l.Swap)
	case l.Device >= 1:
		return "a device is full, or does not answer"
	case l.Device >= p.Full:
		return fmt.Sprintf("a device has %.0f %% of its memory limit", 100*l.Device)
	case l.Current <= p.Floor:
		return "it has little memory"
	case p.share(l.Memory, l.Since) > p.Pressure:
		return "its programs wait for memory"
	case p.share(l.IO, l.Since) > p.Pressure:
		return "its programs wait for input or output"
	case float64(l.SwappedOut) > float64(p.SwapRate)*l.Since.Seconds():
		return "much was written to swap"
	}
	return ""
}

func (p Policy) share(waited, since time.Duration) float64 { return float64(waited) / float64(since) }
