// SPDX-License-Identifier: Apache-2.0

package podswap

// QOS classes of pods, as their status has them.
const (
	Guaranteed = "Guaranteed" // Guaranteed pods do not swap.
	Burstable  = "Burstable"  // Burstable pods may swap under LimitedSwap.
	BestEffort = "BestEffort" // BestEffort pods do not swap.
)

// A Node is what a limit is in proportion to, in bytes.
type Node struct {
	Memory uint64 // of the machine
	Swap   uint64 // of all areas
}

// Share is the kubelet's formula for LimitedSwap: the part of the node's swap that the request is
// of its memory, in bytes. A request larger than the memory gets none.
func (n Node) Share(request uint64) uint64 {
	if n.Memory == 0 || request > n.Memory {
		return 0
	}
	return uint64(float64(request) / float64(n.Memory) * float64(n.Swap)) // in the kubelet's arithmetic
}

// Limit returns what memory.swap.max of a container is under LimitedSwap, in bytes, and why it is
// 0.
func (n Node) Limit(p *Pod, c Container) (limit uint64, why string) {
	request, bound := c.Resources.Requests.Memory, c.Resources.Limits.Memory
	if request == nil {
		request = bound // the API server does that
	}
	switch {
	case p.Critical():
		return 0, "critical or static pod"
	case p.Status.QOSClass != Burstable:
		return 0, p.Status.QOSClass
	case request == nil || *request == 0:
		return 0, "no memory request"
	case bound != nil && *bound == *request:
		return 0, "memory request = limit"
	}
	if limit = n.Share(uint64(*request)); limit == 0 {
		why = "no swap for its request"
	}
	return limit, why
}
