// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"fmt"
	"math"
	"time"
)

// A Policy says when the kernel is to free the slot of a page that it has read back.
type Policy string

// The policies.
const (
	// Auto frees slots while memory is short and keeps them while it is plentiful.
	Auto Policy = "auto"
	// Free frees slots always, as kernel zram does.
	Free Policy = "free"
	// Keep leaves it to the kernel, which keeps them until half of all swap is in use.
	Keep Policy = "keep"
)

// ParsePolicy returns the policy of that name.
func ParsePolicy(name string) (Policy, error) {
	switch p := Policy(name); p {
	case Auto, Free, Keep:
		return p, nil
	}
	return "", fmt.Errorf("slots %q: use auto, free or keep", name)
}

// A sample is what the kernel says at one moment. Sizes are in bytes.
type sample struct {
	swapTotal, swapFree    uint64 // of all areas
	own                    uint64 // size of the device's areas that are on
	memTotal, memAvailable uint64
	// pressure is the share of time in which a task waited for memory, in hundredths of a per cent;
	// unknownPressure where the kernel does not report it.
	pressure uint64
}

// used is what is in use of all swap.
func (s sample) used() uint64 { return s.swapTotal - min(s.swapFree, s.swapTotal) }

// MinDevice is the size in bytes of the smallest device for which there is a ballast. The half of
// its slots that is free lasts longer than the process takes to notice that programs want the other
// half, since a CPU compresses less than 1 GiB a second; and its copies take less memory than the
// process.
const MinDevice = 512 << 20

const (
	// minSwap is the least swap for which there is a ballast: that of a device of MinDevice less
	// its headers.
	minSwap = MinDevice - 1<<20

	// Memory is short while less than one part in shortShare of it is available and a task waits
	// for it more than 1 % of the time (PSI's some avg10, in hundredths; an idle machine has 0).
	// Tasks of a control group at its limit wait while the machine has memory for copies. Memory is
	// plentiful again calmTime later.
	shortPressure = 100
	shortShare    = 5
	calmTime      = time.Minute

	unknownPressure = math.MaxUint64
)

// short reports whether memory is short.
func (s sample) short() bool {
	return s.pressure >= shortPressure && s.memAvailable < s.memTotal/shortShare
}

// A governor decides how large the ballast is. It is used by one goroutine.
type governor struct {
	policy    Policy
	lastShort time.Time // when memory was short last
}

// target returns the size in bytes that a ballast of held bytes should have.
func (g *governor) target(s sample, held uint64, now time.Time) uint64 {
	if s.short() {
		g.lastShort = now
	}
	if g.policy == Auto && (g.lastShort.IsZero() || now.Sub(g.lastShort) > calmTime) {
		return 0
	}
	return fit(s, held)
}

// fit returns the ballast that there should be where one of held bytes is: it leaves one as it is
// that makes a little more than half of all swap used, since swap in use always moves a little.
func fit(s sample, held uint64) uint64 {
	half, margin, used := s.swapTotal/2, s.swapTotal/64, s.used()
	if held > 0 && s.own > 0 && s.swapTotal >= minSwap && used > half+margin/4 && used < half+2*margin {
		return held
	}
	return want(s, held)
}

// want returns the ballast that brings what is in use just above half of all swap.
func want(s sample, held uint64) uint64 {
	if s.swapTotal < minSwap || s.own == 0 {
		return 0
	}
	half, margin, used := s.swapTotal/2, s.swapTotal/64, s.used()
	inUse := used - min(held, used)
	if inUse >= half+margin {
		return 0
	}
	target := half + margin - inUse
	if target > s.own/4*3 {
		return 0 // other areas are so large that the ballast would take what programs want of ours
	}
	return target
}
