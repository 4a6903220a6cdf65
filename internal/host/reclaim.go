// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// reclaimFile asks a group of cgroup v2 for memory (Linux 5.19).
const reclaimFile = "memory.reclaim"

// Highest returns the directories of the groups directly below the top, relative to the Root.
func (h MemoryHierarchy) Highest() ([]string, error) { return h.below(h.Top) }

// Current returns the memory of a group of cgroup v2 in bytes, all kinds and the groups below it
// included. The error is fs.ErrNotExist for a group that is not under the controller.
func (h MemoryHierarchy) Current(dir string) (uint64, error) {
	n, err := h.root.number(filepath.Join(dir, "memory.current"))
	if errors.Is(err, syscall.ENODEV) { // removed while it was read
		err = os.ErrNotExist
	}
	return n, err
}

// CanReclaim reports whether a group can be asked for memory.
func (h MemoryHierarchy) CanReclaim(dir string) bool {
	return h.root.exists(filepath.Join(dir, reclaimFile))
}

// Reclaim has the kernel take up to a number of bytes from a group of cgroup v2: it drops pages of
// files and writes others to swap. That it finds less is no error.
func (h MemoryHierarchy) Reclaim(dir string, bytes uint64) error {
	err := h.root.WriteControl(filepath.Join(dir, reclaimFile), strconv.FormatUint(bytes, 10))
	if errors.Is(err, syscall.EAGAIN) || removed(err) {
		return nil
	}
	return err
}

// Stalled is for how long some task of a group of cgroup v2 has waited for a resource, memory or
// io, since the group was made; false where the kernel does not tell.
func (h MemoryHierarchy) Stalled(dir, resource string) (waited time.Duration, known bool) {
	text, err := h.root.Read(filepath.Join(dir, resource+".pressure"))
	if err != nil {
		return 0, false
	}
	some, _, _ := strings.Cut(text, "\n")
	_, total, _ := strings.Cut(some, " total=")
	us, err := strconv.ParseInt(total, 10, 64)
	return time.Duration(us) * time.Microsecond, err == nil && strings.HasPrefix(some, "some ")
}

// SwappedOut is how many bytes the machine has written to swap since it booted.
func (r Root) SwappedOut() (uint64, error) {
	stat, err := r.stat("proc/vmstat")
	if err != nil {
		return 0, err
	}
	pages, ok := stat["pswpout"]
	if !ok {
		return 0, fmt.Errorf("read %s: no pswpout in it", r.Path("proc/vmstat"))
	}
	return pages * uint64(os.Getpagesize()), nil
}
