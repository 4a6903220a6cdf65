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
	taken := slices.DeleteFunc(slices.Clone(own), func(c Change) bool {
		now, err := c.Parameter.Read(m)
		if err == nil && now != c.Set {
			if err = c.Parameter.set(m, c.Set); err != nil {
				err = errors.Join(err, putBack(m, c.Parameter, now))
			}
		}
		if err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s=%s: %v", c.Parameter, c.Set, err))
			return true
		}
		r.Done = append(r.Done, fmt.Sprintf("%s=%s (was %s)", c.Parameter, c.Set, now))
		return false
	})
	if len(taken) == len(own) {
		return own, r
	}
	if err := keep(taken); err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("keep what was set: %v", err))
	}
	return taken, r
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
