// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/zramfs/zramfs/internal/host"
)

// ErrUnsupported means that this machine has no group that can be asked.
var ErrUnsupported = errors.New("not supported")

// A Reclaimer asks groups of a machine for memory. One goroutine uses it.
type Reclaimer struct {
	Machine host.Root
	Policy  Policy
	// Groups are directories relative to Machine; nil stands for the groups directly below the
	// top, as they come and go.
	Groups []string
	// Fullest returns the share of its memory limit that the fullest device takes.
	Fullest func() float64
	// DryRun asks for nothing.
	DryRun bool
	// Tell is told of each round of a group.
	Tell func(Round) error

	hierarchy host.MemoryHierarchy
	seen      map[string]sight
	swapped   uint64 // bytes written to swap, at the last round
	at        time.Time
}

// A sight is the state of a group's counters.
type sight struct {
	at         time.Time
	memory, io time.Duration
}

// A Round is one look at a group and what followed.
type Round struct {
	Time time.Time `json:"time"` // when the group was looked at
	// Group is its path below the top of the hierarchy.
	Group string `json:"cgroup"`
	// MemoryBytes is its memory before anything was asked for.
	MemoryBytes uint64 `json:"memory_bytes"`
	// MemoryPressure and IOPressure are the shares of the time since the look before in which a
	// task waited, from 0 to 1.
	MemoryPressure float64 `json:"memory_pressure"`
	IOPressure     float64 `json:"io_pressure"`
	// AskedBytes is what the kernel was asked to reclaim, and ReclaimedBytes by how much the
	// group's memory is less afterwards.
	AskedBytes     uint64 `json:"asked_bytes"`
	ReclaimedBytes uint64 `json:"reclaimed_bytes"`
	// Reason says why nothing was asked for; empty where something was.
	Reason string `json:"reason"`
}

// Prepare finds the hierarchy and checks that the groups can be asked. The error is ErrUnsupported
// where no group can.
func (r *Reclaimer) Prepare() (err error) {
	if r.hierarchy, err = r.Machine.MemoryHierarchy(); err != nil {
		return err
	}
	switch {
	case r.hierarchy.Top == "":
		return fmt.Errorf("%w: no control groups of the memory controller are mounted", ErrUnsupported)
	case !r.hierarchy.V2:
		return fmt.Errorf("%w: the memory controller is in cgroup v1, which has no memory.reclaim: boot with systemd.unified_cgroup_hierarchy=1",
			ErrUnsupported)
	}
	r.seen = map[string]sight{}
	for _, dir := range r.Groups {
		if _, err := r.hierarchy.Current(dir); err != nil {
			return fmt.Errorf("%s is no control group with memory of its own: %w", r.Machine.Path(dir), err)
		}
	}
	groups, err := r.groups()
	if err != nil {
		return err
	}
	blind := false
	for _, dir := range groups {
		if !r.hierarchy.CanReclaim(dir) {
			continue
		}
		if _, told := r.hierarchy.Stalled(dir, "memory"); told {
			return nil
		}
		blind = true
	}
	if blind {
		return fmt.Errorf("%w: the kernel does not tell for how long programs wait: boot with psi=1, which needs CONFIG_PSI", ErrUnsupported)
	}
	return fmt.Errorf("%w: no group below %s has memory.reclaim, which needs Linux 5.19 and the memory controller in cgroup.subtree_control",
		ErrUnsupported, r.Machine.Path(r.hierarchy.Top))
}

// Run asks until ctx ends or Tell fails. Prepare comes first.
func (r *Reclaimer) Run(ctx context.Context) error {
	tick := time.NewTicker(r.Policy.Interval)
	defer tick.Stop()
	for {
		if err := r.round(ctx, time.Now()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// groups are the directories of the groups to ask.
func (r *Reclaimer) groups() ([]string, error) {
	if r.Groups != nil {
		return r.Groups, nil
	}
	return r.hierarchy.Highest()
}

// round looks at all groups once.
func (r *Reclaimer) round(ctx context.Context, now time.Time) error {
	groups, err := r.groups()
	if err != nil {
		return err
	}
	swapped, err := r.Machine.SwappedOut()
	if err != nil {
		return err
	}
	of := Look{Swap: 1, Device: r.Fullest(), SwappedOut: swapped - min(r.swapped, swapped)}
	if r.at.IsZero() {
		of.SwappedOut = 0
	}
	if use := r.Machine.SwapUse(); use.Total > 0 {
		of.Swap = float64(use.Used) / float64(use.Total)
	}
	r.swapped, r.at = swapped, now
	seen := map[string]sight{}
	for _, dir := range groups {
		if ctx.Err() != nil {
			return nil
		}
		look, s, err := r.look(dir, of, now)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed
		}
		if err != nil {
			return err
		}
		seen[dir] = s
		if err := r.ask(dir, look, now); err != nil {
			return err
		}
	}
	r.seen = seen
	return nil
}

// look reads a group; of has what was seen of the machine.
func (r *Reclaimer) look(dir string, of Look, now time.Time) (Look, sight, error) {
	s := sight{at: now}
	var err error
	if of.Current, err = r.hierarchy.Current(dir); err != nil {
		return of, s, err
	}
	var told bool
	s.memory, told = r.hierarchy.Stalled(dir, "memory")
	s.io, _ = r.hierarchy.Stalled(dir, "io")
	of.Blind = !told
	// Lower counters are those of another group, made in the place of one that was removed.
	if before, ok := r.seen[dir]; ok && s.memory >= before.memory && s.io >= before.io {
		of.Since, of.Memory, of.IO = now.Sub(before.at), s.memory-before.memory, s.io-before.io
	}
	return of, s, nil
}

// ask asks the group for what the policy allows, and tells of it.
func (r *Reclaimer) ask(dir string, l Look, now time.Time) error {
	step := r.Policy.Next(l)
	name, err := filepath.Rel(r.hierarchy.Top, dir)
	if err != nil {
		return err
	}
	round := Round{Time: now, Group: name, MemoryBytes: l.Current, AskedBytes: step.Bytes, Reason: step.Reason}
	if l.Since > 0 {
		round.MemoryPressure, round.IOPressure = r.Policy.share(l.Memory, l.Since), r.Policy.share(l.IO, l.Since)
	}
	if step.Bytes > 0 && !r.DryRun {
		if err := r.hierarchy.Reclaim(dir, step.Bytes); err != nil {
			return fmt.Errorf("ask %s for %d bytes: %w", r.Machine.Path(dir), step.Bytes, err)
		}
		if after, err := r.hierarchy.Current(dir); err == nil {
			round.ReclaimedBytes = l.Current - min(after, l.Current)
		}
	}
	return r.Tell(round)
}
