// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
)

// groupNeed is what g takes when at most so many bytes come back from swap, with a margin of 1/32 of
// the limit for what else is charged to it: page tables, stacks, and what its programs ask for
// meanwhile.
func groupNeed(g host.MemoryGroup, returning uint64) uint64 {
	return g.Resident + min(g.Swapped, returning) + g.Limit/32
}

// cramped reports whether the kernel would have to kill programs in g.
//
// What the group has in other swap areas stays there, but no file tells the areas apart. So where
// there are others, what comes back may be less than is taken here, never more.
func cramped(g host.MemoryGroup, returning uint64) bool {
	return g.Limit < host.NoMemoryLimit && min(g.Swapped, returning) > 0 && groupNeed(g, returning) > g.Limit
}

// checkGroups refuses to bring f.used bytes back where control groups have no room for them. The
// kernel charges each page to the group of its owner, however much memory the machine has left, and
// makes room in the group by swapping out: so what goes over the limits has to have room in other
// swap. The groups' own limits on swap are no matter, since what comes back is swap no more. Only
// groups that are mounted here are seen: from inside a container that may be its own alone.
func checkGroups(out io.Writer, m host.Root, f fit) error {
	h, err := m.MemoryHierarchy()
	if err == nil && h.Top == "" {
		return nil
	}
	var found groups
	if err == nil {
		found, err = readGroups(h, f.used, groupsTime)
	}
	over := found.over(f.used)
	switch {
	case over > f.otherFree: // reason enough, whatever the rest may be
		return fmt.Errorf("not stopped: %s, and the kernel would kill programs there; raise %s, stop programs, wait (--wait 60), "+
			"or use --force", found.describe(f.used), h.LimitFile)
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

// groupsTime bounds the reading of all groups.
const groupsTime = 10 * time.Second

// errManyGroups means that the time was over before all groups were read.
var errManyGroups = fmt.Errorf("there are too many to read in %s", groupsTime)

// readGroups reads all groups of h in at most limit. With an error it returns what it had found by
// then.
func readGroups(h host.MemoryHierarchy, returning uint64, limit time.Duration) (found groups, err error) {
	ctx, stop := context.WithTimeoutCause(context.Background(), limit, errManyGroups)
	defer stop()
	err = h.Walk(ctx, func(g host.MemoryGroup) { found.add(g, returning) })
	return found, err
}

// groups is what checkGroups wants to know of all groups.
type groups struct {
	cramped   []host.MemoryGroup
	uncounted int // groups with a limit whose swap the kernel does not count
}

func (f *groups) add(g host.MemoryGroup, returning uint64) {
	if g.SwapUncounted && g.Limit < host.NoMemoryLimit {
		f.uncounted++
	}
	if cramped(g, returning) {
		f.cramped = append(f.cramped, g)
	}
}

// groupsNamed is how many groups a message names.
const groupsNamed = 3

// over is what the groups would have beyond their limits. A group counts again in those above it.
func (f *groups) over(returning uint64) (over uint64) {
	for _, g := range f.cramped {
		over += groupNeed(g, returning) - g.Limit
	}
	return over
}

// describe names the worst groups with their numbers.
func (f *groups) describe(returning uint64) string {
	over := func(g host.MemoryGroup) uint64 { return groupNeed(g, returning) - g.Limit }
	worst := slices.SortedFunc(slices.Values(f.cramped), func(a, b host.MemoryGroup) int {
		return cmp.Or(cmp.Compare(over(b), over(a)), strings.Compare(a.Dir, b.Dir))
	})
	var words []string
	for _, g := range worst[:min(groupsNamed, len(worst))] {
		words = append(words, fmt.Sprintf("of %s (needs %s with a margin: %s in memory, up to %s coming back; limit %s)",
			g.Dir, term.Size(groupNeed(g, returning)), term.Size(g.Resident), term.Size(min(g.Swapped, returning)), term.Size(g.Limit)))
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
