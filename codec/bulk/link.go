// SPDX-License-Identifier: Apache-2.0

package bulk

import "context"

// A Link is how fast data moves between the memory of the CPU and an engine that has memory of its
// own, in bytes a second. What such an engine does host to host ends there, however fast it
// computes. 0 is what the engine cannot do.
type Link struct {
	// ToDevice and FromDevice are for copies one way, from and to locked memory, and BothWays for both
	// at once, added up.
	ToDevice, FromDevice, BothWays float64
	// KernelReads and KernelWrites are what the engine's programs reach in the CPU's memory without a
	// copy.
	KernelReads, KernelWrites float64
}

// Linked is an [Engine] that has a link.
type Linked interface {
	Engine
	// Link measures it, which takes some milliseconds. It may be called while batches are under way,
	// which make each other slower then. A context that is cancelled ends it with its error.
	Link(ctx context.Context) (Link, error)
}
