// SPDX-License-Identifier: Apache-2.0

// Package limitedswap lets pods swap on a node whose kubelet stays at NoSwap: an agent gives each
// container the limit that the kubelet would give it under LimitedSwap.
package limitedswap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/kubelet"
	"github.com/zramfs/zramfs/internal/podswap"
	"github.com/zramfs/zramfs/internal/term"
)

// ErrExclusive means that the kubelet sets the limits by itself.
var ErrExclusive = errors.New("the kubelet has swapBehavior LimitedSwap and sets memory.swap.max by itself: run either this agent or LimitedSwap")

// ErrNoKubelet means that no kubelet is in sight.
var ErrNoKubelet = errors.New("no kubelet runs in this PID namespace: give the pod hostPID: true")

// An Agent sets memory.swap.max of containers. One goroutine runs it.
type Agent struct {
	Machine  host.Root                                       // of the node
	Pods     func(context.Context) ([]podswap.Pod, error)    // lists the pods of the node
	Settings func(context.Context) (kubelet.Settings, error) // of the kubelet; FromFiles is one
	Changed  <-chan struct{}                                 // asks for a check ahead of its time; may be nil
	Interval time.Duration                                   // between checks
	Restore  bool                                            // the former limits when it ends
	Log      func(line string)

	changes  map[string]change // by the directory of the group
	trouble  string            // the last one that was logged
	hasBegun bool
}

// A change is a limit that the agent has set.
type change struct {
	group         podswap.Group
	title         string
	former, limit uint64
}

// FromFiles returns the settings of the kubelet that runs, from its command line and files.
func FromFiles(m host.Root) func(context.Context) (kubelet.Settings, error) {
	return func(context.Context) (kubelet.Settings, error) {
		all := kubelet.Find(m)
		if len(all) == 0 {
			return kubelet.Settings{}, ErrNoKubelet
		}
		return all[0].Settings, all[0].Err
	}
}

// Run sets limits until ctx ends. It ends with an error where limits cannot be set at all
// (podswap.ErrNoGroups), no kubelet runs, or the kubelet sets them. An error that may pass, as of
// an API server that does not answer, is logged once.
func (a *Agent) Run(ctx context.Context) error {
	a.changes = map[string]change{}
	for {
		err := a.check(ctx)
		if final(err) || err != nil && !a.hasBegun && errors.Is(err, ErrNoKubelet) {
			return errors.Join(err, a.restore())
		}
		a.note(err)
		a.hasBegun = true
		select {
		case <-ctx.Done():
			return a.restore()
		case <-a.Changed:
		case <-time.After(a.Interval):
		}
	}
}

// final recognises what does not pass.
func final(err error) bool {
	return errors.Is(err, ErrExclusive) || errors.Is(err, podswap.ErrNoGroups)
}

// note logs trouble when it begins and when it is over.
func (a *Agent) note(err error) {
	text := ""
	if err != nil {
		text = term.OneLine(err.Error())
	}
	switch {
	case text == a.trouble:
	case text == "":
		a.Log("limits are set again")
	default:
		a.Log("limits stay as they are: " + text)
	}
	a.trouble = text
}

// check sets the limits of all containers that are not right.
func (a *Agent) check(ctx context.Context) error {
	settings, err := a.Settings(ctx)
	if err != nil {
		return fmt.Errorf("the kubelet's settings: %w", err)
	}
	if settings.SwapBehavior == kubelet.LimitedSwap {
		return ErrExclusive
	}
	groups, err := podswap.Groups(a.Machine)
	if err != nil {
		return err
	}
	memory, err := a.Machine.MemTotal()
	if err != nil {
		return err
	}
	node := podswap.Node{Memory: memory, Swap: a.Machine.SwapUse().Total}
	pods, err := a.Pods(ctx)
	if err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}
	a.forget(groups)
	var failed []error
	for _, r := range podswap.RunningIn(pods) {
		if g, ok := groups[r.ID]; ok {
			limit, _ := node.Limit(r.Pod, r.Container)
			failed = append(failed, a.set(g, r.Title(), limit))
		}
	}
	return errors.Join(failed...)
}

// forget drops the groups that are gone.
func (a *Agent) forget(groups map[string]podswap.Group) {
	for dir, c := range a.changes {
		if groups[c.group.ID].Dir != dir {
			delete(a.changes, dir)
		}
	}
}

// set gives a group its limit. A container that may not swap and never could is left alone.
func (a *Agent) set(g podswap.Group, title string, limit uint64) error {
	c, ours := a.changes[g.Dir]
	if !ours && limit == 0 {
		return nil
	}
	now, there, err := g.Limit(a.Machine)
	if err != nil || !there {
		return err
	}
	if !ours {
		c = change{group: g, title: title}
		if now == podswap.NoLimit {
			c.former = now
		} // else 0, as NoSwap has it: another limit is that of an agent before this one
	}
	if !podswap.SameLimit(now, limit) {
		if there, err = g.SetLimit(a.Machine, limit); err != nil || !there {
			return err
		}
		a.Log(fmt.Sprintf("%s: memory.swap.max %s -> %s", title, words(now), words(limit)))
	}
	c.limit = limit
	a.changes[g.Dir] = c
	return nil
}

// words writes a limit.
func words(limit uint64) string {
	switch limit {
	case podswap.NoLimit:
		return "max"
	case 0:
		return "0"
	}
	return term.Size(limit)
}

// restore sets the former limits, where nothing else has changed them.
func (a *Agent) restore() error {
	if !a.Restore {
		return nil
	}
	var failed []error
	for _, c := range a.changes {
		now, there, err := c.group.Limit(a.Machine)
		if err == nil && there && podswap.SameLimit(now, c.limit) {
			if _, err = c.group.SetLimit(a.Machine, c.former); err == nil {
				a.Log(fmt.Sprintf("%s: memory.swap.max %s -> %s", c.title, words(now), words(c.former)))
			}
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}
