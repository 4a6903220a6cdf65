// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zramfs/zramfs/internal/host"
)

// A Change is a parameter that a device has changed or is about to change, its values in the
// kernel's text.
type Change struct {
	Parameter Parameter `json:"name"`
	Old       string    `json:"old"`
	Set       string    `json:"set"`
}

// A Report is the result of Apply or Restore in words.
type Report struct {
	Done     []string // a parameter each, with its values
	Warnings []string // a line each, with what was left undone and why
}

// Apply makes the settings on m and returns the changes. Others are the changes of the other
// devices; Apply corrects their old values in place. It calls keep with its own changes before the
// first of them, and again with those that the kernel has taken; keep stores them and others. If
// the first call fails, Apply changes nothing.
//
// A parameter that cannot be changed, as in a container with a read-only /proc/sys, is a warning.
func Apply(m host.Root, settings []Setting, others [][]Change, keep func([]Change) error) ([]Change, Report) {
	own, r := plan(m, settings, others)
	if err := keep(own); err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("left as they are, since the old values cannot be kept: %v", err))
		return nil, r
	}
	var taken []Change
	other := false // a change has another value than was kept
	for _, c := range own {
		now, err := c.Parameter.Read(m)
		if err == nil && now != c.Set {
			planned := c.Set
			c.Set, err = setFirst(m, c.Parameter, now, append([]string{planned}, alternatives(settings, c)...))
			other = other || c.Set != planned
		}
		if err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s=%s: %v", c.Parameter, c.Set, err))
			continue
		}
		r.Done = append(r.Done, fmt.Sprintf("%s=%s (was %s)", c.Parameter, c.Set, now))
		taken = append(taken, c)
	}
	if len(taken) == len(own) && !other {
		return own, r
	}
	if err := keep(taken); err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("keep what was set: %v", err))
	}
	return taken, r
}

// alternatives returns the other values that will do for a change.
func alternatives(settings []Setting, c Change) []string {
	for _, s := range settings {
		if s.Parameter == c.Parameter && s.Value == c.Set {
			return s.Or
		}
	}
	return nil
}

// setFirst gives a parameter that is now the first of these values that the kernel takes, and
// returns it; with an error, that of the first and its reason.
func setFirst(m host.Root, p Parameter, now string, values []string) (string, error) {
	var first error
	for _, value := range values {
		if value == now {
			return value, nil
		}
		err := p.set(m, value)
		if err == nil {
			return value, nil
		}
		if err = errors.Join(err, putBack(m, p, now)); first == nil {
			first = err
		}
	}
	return values[0], first
}

// putBack writes the value from before a change that the kernel did not take as it was.
func putBack(m host.Root, p Parameter, before string) error {
	if now, err := p.Read(m); err != nil || now == before {
		return nil // nothing was written
	}
	return p.write(m, before)
}

// plan returns the changes that the settings need.
func plan(m host.Root, settings []Setting, others [][]Change) (own []Change, r Report) {
	for _, s := range settings {
		now, err := s.Parameter.Read(m)
		if err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %v", s.Parameter, err))
			continue
		}
		if now != s.Value && s.met(now) {
			continue
		}
		if wanted(Change{Parameter: s.Parameter, Set: now}, others) && slices.Contains(s.Or, now) {
			s.Value = now // what another device has found
		}
		own = append(own, Change{s.Parameter, share(s, now, others), s.Value})
	}
	return own, r
}

// share returns the old value of a parameter that is now. While it is as another device set it,
// that is the other's old value. If it is not, another program has set it since: now becomes the
// old value of those as well that set the same as s, since from now on it is as they set it.
func share(s Setting, now string, others [][]Change) string {
	old := now
	for _, changes := range others {
		for i := range changes {
			switch c := &changes[i]; {
			case c.Parameter != s.Parameter:
			case c.Set == now:
				if c.Old != c.Set {
					old = c.Old
				}
			case c.Set == s.Value:
				c.Old = now
			}
		}
	}
	return old
}

// Restore gives every parameter in own that is still as it was set its old value, or leaves it to
// the devices that run on and want the same; running are their changes.
func Restore(m host.Root, own []Change, running [][]Change) Report {
	var r Report
	for _, c := range own {
		now, err := c.Parameter.Read(m)
		switch {
		case err != nil:
		case now == c.Old && now != c.Set: // a killed command had not set it yet
		case now != c.Set:
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s is %s by now, not the %s that up set: left alone", c.Parameter, now, c.Set))
		case wanted(c, running):
		case c.Old != c.Set:
			if err = c.Parameter.set(m, c.Old); err == nil {
				r.Done = append(r.Done, fmt.Sprintf("%s=%s", c.Parameter, c.Old))
			}
		}
		if err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("restore %s=%s: %v", c.Parameter, c.Old, err))
		}
	}
	return r
}

// wanted reports whether a running device wants the value of c.
func wanted(c Change, running [][]Change) bool {
	return slices.ContainsFunc(running, func(changes []Change) bool {
		return slices.ContainsFunc(changes, func(s Change) bool { return s.Parameter == c.Parameter && s.Set == c.Set })
	})
}
