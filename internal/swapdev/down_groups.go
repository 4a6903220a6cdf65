// SPDX-License-Identifier: Apache-2.0

package swapdev

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

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/term"
)

// groupNeed is the memory that g needs when at most returning bytes come back from swap. A margin
// of 1/32 of the limit is for other charges: page tables, stacks, and allocations in that time.
func groupNeed(g host.MemoryGroup, returning uint64) uint64 {
	return g.Resident + min(g.Swapped, returning) + g.Limit/32
}

// cramped reports whether the kernel would have to kill programs in g.
//
// A group's pages in other swap areas stay there, but no file tells the areas apart. So with other
// areas, less may come back than counted here, never more.
func cramped(g host.MemoryGroup, returning uint64) bool {
	return g.Limit < host.NoMemoryLimit && min(g.Swapped, returning) > 0 && groupNeed(g, returning) > g.Limit
}

// checkGroups refuses to bring back f.used bytes if the control groups have no room. The kernel
// charges each page to its owner's group, however much memory the machine has, and makes room in
// the group by swapping out: so what exceeds the limits needs room in other swap. The groups'
// limits on swap do not matter, since pages that come back leave swap. It sees only groups mounted
// here: inside a container perhaps only its own.
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
	case over > f.otherFree: // refuse even with an error in other groups
		return fmt.Errorf("not stopped: %s, and the kernel would kill programs there; raise %s, stop programs, wait (--wait 60), "+
			"or use --force", found.describe(f.used), h.LimitFile)
	case err != nil:
		return fmt.Errorf("cannot check whether the swapped pages fit into the control groups: %w; "+
			"--force skips the check", err)
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

// errManyGroups means that groupsTime ended before all groups were read.
var errManyGroups = fmt.Errorf("there are too many to read in %s", groupsTime)

// readGroups reads all groups of h in at most limit. With an error it returns the groups read so
// far.
func readGroups(h host.MemoryHierarchy, returning uint64, limit time.Duration) (found groups, err error) {
	ctx, stop := context.WithTimeoutCause(context.Background(), limit, errManyGroups)
	defer stop()
	err = h.Walk(ctx, func(g host.MemoryGroup) { found.add(g, returning) })
	return found, err
}

// groups sums up the control groups for checkGroups.
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

// groupsNamed is the most groups that a message names.
const groupsNamed = 3

// over is the sum of the groups' needs beyond their limits. A group also counts in its ancestors.
func (f *groups) over(returning uint64) (over uint64) {
	for _, g := range f.cramped {
		over += groupNeed(g, returning) - g.Limit
	}
	return over
}

// describe names the worst groups with their sizes.
func (f *groups) describe(returning uint64) string {
	over := func(g host.MemoryGroup) uint64 { return groupNeed(g, returning) - g.Limit }
	worst := slices.Clone(f.cramped)
	slices.SortFunc(worst, func(a, b host.MemoryGroup) int {
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

// explainSwapOff adds to an error of swapoff what it means for the user.
func explainSwapOff(err error) error {
	if errors.Is(err, syscall.ENOMEM) {
		return fmt.Errorf("%w: a control group or the machine had no room for what came back, and the kernel may have "+
			"killed programs for it (dmesg names them); swap is still on: raise the memory limit of that group, or end "+
			"programs, and try again", err)
	}
	return fmt.Errorf("%w; swap is still on", err)
}
