// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
)

// group is a control group of the memory controller, with all that is in the groups below it. All
// sizes are in bytes.
type group struct {
	dir       string // as seen from this process
	limit     uint64 // noGroupLimit or more where there is none
	held      uint64 // in memory, and nothing that the kernel could drop or write to a file
	swapped   uint64 // in swap and not in memory as well
	uncounted bool   // the kernel does not say what of it is in swap
}

// noGroupLimit is below what cgroup v1 shows for a group without a limit (PAGE_COUNTER_MAX in the
// kernel's page_counter.h) and above the memory of any machine.
const noGroupLimit = 1 << 62

// need is what the group takes when at most so many bytes come back from swap, with a margin of
// 1/32 of the limit for what else is charged to it: page tables, stacks, and what its programs ask
// for meanwhile.
func (g group) need(returning uint64) uint64 {
	return g.held + min(g.swapped, returning) + g.limit/32
}

// cramped reports whether the kernel would have to kill programs in the group.
//
// What the group has in other swap areas stays there, but no file tells the areas apart. So where
// there are others, what comes back may be less than is taken here, never more.
func (g group) cramped(returning uint64) bool {
	return g.limit < noGroupLimit && min(g.swapped, returning) > 0 && g.need(returning) > g.limit
}

// checkGroups refuses to bring f.used bytes back where control groups have no room for them. The
// kernel charges each page to the group of its owner, however much memory the machine has left, and
// makes room in the group by swapping out: so what goes over the limits has to have room in other
// swap. The groups' own limits on swap are no matter, since what comes back is swap no more. Only
// groups that are mounted here are seen: from inside a container that may be its own alone.
func checkGroups(out io.Writer, m machine, f fit) error {
	h, err := memoryHierarchy(m)
	if err == nil && h.top == "" {
		return nil
	}
	var found groups
	if err == nil {
		found, err = h.walk(m, f.used, time.Now().Add(groupsTime))
	}
	over := found.over(f.used)
	switch {
	case over > f.otherFree: // reason enough, whatever the rest may be
		return fmt.Errorf("not stopped: %s, and the kernel would kill programs there; raise %s, stop programs, wait (--wait 60), "+
			"or use --force", found.describe(f.used), h.limitFile)
	case err != nil:
		return fmt.Errorf("cannot tell whether what is in swap fits into the control groups: %w; "+
			"--force goes on without knowing", err)
	case over > 0:
		return printStep(out, "groups", "ok", fmt.Sprintf("%s of %d groups go to other swap, where %s are free",
			term.Size(over), len(found.cramped), term.Size(f.otherFree)))
	case found.uncounted > 0:
		return printStep(out, "groups", "warn", fmt.Sprintf("the kernel does not count swap by control group (boot with "+
			"swapaccount=1): in the %d with a memory limit it kills programs where it does not fit", found.uncounted))
	}
	return nil
}

// groups is what a walk has found.
type groups struct {
	cramped   []group
	uncounted int // groups with a limit whose swap the kernel does not count
}

func (f *groups) add(g group, returning uint64) {
	if g.uncounted && g.limit < noGroupLimit {
		f.uncounted++
	}
	if g.cramped(returning) {
		f.cramped = append(f.cramped, g)
	}
}

// groupsNamed is how many groups a message names.
const groupsNamed = 3

// over is what the groups would have beyond their limits. A group counts again in those above it.
func (f *groups) over(returning uint64) (over uint64) {
	for _, g := range f.cramped {
		over += g.need(returning) - g.limit
	}
	return over
}

// describe names the worst groups with their numbers.
func (f *groups) describe(returning uint64) string {
	over := func(g group) uint64 { return g.need(returning) - g.limit }
	worst := slices.SortedFunc(slices.Values(f.cramped), func(a, b group) int {
		return cmp.Or(cmp.Compare(over(b), over(a)), strings.Compare(a.dir, b.dir))
	})
	var words []string
	for _, g := range worst[:min(groupsNamed, len(worst))] {
		words = append(words, fmt.Sprintf("of %s (needs %s with a margin: %s in memory, up to %s coming back; limit %s)",
			g.dir, term.Size(g.need(returning)), term.Size(g.held), term.Size(min(g.swapped, returning)), term.Size(g.limit)))
	}
	text := "bringing swap back would exceed the memory limit " + strings.Join(words, ", ")
	if more := len(worst) - groupsNamed; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// explainSwapOff says what an error of swapoff means for the caller.
func explainSwapOff(err error) error {
	if errors.Is(err, syscall.ENOMEM) {
		return fmt.Errorf("%w: a control group or the machine had no room for what came back, and the kernel may have "+
			"killed programs for it (dmesg names them); swap is still on: raise the memory limit of that group, or end "+
			"programs, and try again", err)
	}
	return fmt.Errorf("%w; swap is still on", err)
}
