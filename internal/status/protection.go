// SPDX-License-Identifier: Apache-2.0

package status

// State is the outcome of a [Protection].
type State string

// The outcomes of a protection.
const (
	// OK means that the protection holds.
	OK State = "ok"
	// Warn means that it does not hold, and that the device is less safe without it.
	Warn State = "warn"
	// Fail means that it does not hold, and that using the device as swap can hang the
	// machine.
	Fail State = "fail"
)

// Protection is one measure that keeps the serving process from depending on the memory that it
// provides.
type Protection struct {
	// Name is short and stable: one of the Name constants.
	Name string `json:"name"`
	// State is the outcome.
	State State `json:"state"`
	// Detail says in words what was reached, or why it was not and what to do.
	Detail string `json:"detail"`
	// Essential means that swap must not be turned on while State is Fail.
	Essential bool `json:"essential"`
}

// Names of the protections.
const (
	// NameIOFlusher is PR_SET_IO_FLUSHER: no allocation of the process waits for writeback.
	NameIOFlusher = "io-flusher"
	// NameCore is RLIMIT_CORE 0: no core dump keeps the device's descriptors open.
	NameCore = "core-dump"
	// NameOOM is an OOM score of -1000: the OOM killer leaves the process alone.
	NameOOM = "oom-score"
	// NameMemory is mlockall: the process cannot be swapped out.
	NameMemory = "memory-lock"
	// NameImage is an image that the kernel never swaps, whether or not the process has it locked.
	NameImage = "image"
	// NamePopulate is code and heap made present before the first request.
	NamePopulate = "populate"
	// NameCollector is the garbage collector at rest.
	NameCollector = "collector"
	// NameCgroup is the absence of limits on the process's control groups.
	NameCgroup = "cgroup"
	// NameLimits is the absence of resource limits that end the process; a device has it.
	NameLimits = "resource-limits"
	// NamePIDNamespace is that the process ends with the machine, and not with a container.
	NamePIDNamespace = "pid-namespace"
	// NameView is that the whole machine sees the device's files.
	NameView = "mount-view"
	// NameControl is there only where other users can take the names of the device's sockets.
	NameControl = "control"
	// NameScheduling is a class of scheduling in which taking memory does not wait.
	NameScheduling = "scheduling"
	// NameNamespace is there only where the processes stay in a mount namespace that may end.
	NameNamespace = "mount-namespace"
	// NameTimeout is the absence of FUSE request timeouts.
	NameTimeout = "fuse-timeout"
)

// Blocking returns the essential protections that failed: the reasons for which swap must not be
// turned on.
func Blocking(all []Protection) []Protection {
	var failed []Protection
	for _, p := range all {
		if p.Essential && p.State == Fail {
			failed = append(failed, p)
		}
	}
	return failed
}

// MergeProtections returns each protection once, in the order in which they first come. Of several
// outcomes, such as those of the worker and the keeper, the worst counts.
func MergeProtections(all []Protection) []Protection {
	severity := map[State]int{OK: 0, Warn: 1, Fail: 2}
	place := map[string]int{}
	var merged []Protection
	for _, p := range all {
		i, seen := place[p.Name]
		if !seen {
			place[p.Name] = len(merged)
			merged = append(merged, p)
		} else if severity[p.State] > severity[merged[i].State] {
			merged[i] = p
		}
	}
	return merged
}
