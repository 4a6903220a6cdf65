// SPDX-License-Identifier: Apache-2.0

package bulk

import "context"

// A Link is the speed of transfers between the CPU's memory and an engine with memory of its own,
// in bytes a second: the limit of all work from host to host. 0 means that the engine cannot do it.
type Link struct {
	// ToDevice and FromDevice are copies one way, from and to locked memory; BothWays is the sum of
	// both at once.
	ToDevice, FromDevice, BothWays float64
	// KernelReads and KernelWrites are accesses of the engine's programs to the CPU's memory
	// without a copy.
	KernelReads, KernelWrites float64
}

// Linked is an [Engine] that has a link.
type Linked interface {
	Engine
	// Link measures the link in some milliseconds. It may be called while batches are under way,
	// and the two slow each other down. A cancelled context ends it with the context's error.
	Link(ctx context.Context) (Link, error)
}
