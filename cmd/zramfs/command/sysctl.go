// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// The values of --sysctl.
const (
	sysctlKeep        = "keep"
	sysctlRecommended = "recommended"
)

// sysctlSetting is a kernel parameter and what becomes of it.
type sysctlSetting struct {
	name  string // as sysctl(8) has it
	value uint64
	least bool // a larger value is left alone
}

// recommendedSysctls are the settings of up --sysctl recommended
// (Documentation/admin-guide/sysctl/vm.rst of the kernel).
var recommendedSysctls = []sysctlSetting{
	// 32 pages a swap-in. A request costs tens of microseconds and another page in it about two, so
	// one page at a time, as is advised for zram, loses; docs/performance.md has the figures.
	{"vm.page-cluster", 5, false},
	// Reading a page back from zramfs takes about half as long as from a disk; the kernel's
	// documentation gives 133 for that ratio.
	{"vm.swappiness", 133, true},
	// Reclaim begins and stops with 1.25 % more free memory between the watermarks, so that its
	// requests find memory.
	{"vm.watermark_scale_factor", 125, true},
	// After an allocation that mixed kinds of memory, the kernel would reclaim beyond the
	// watermarks for a while, in bursts.
	{"vm.watermark_boost_factor", 0, false},
}

// sysctlHelp lists the settings.
func sysctlHelp() string {
	words := make([]string, len(recommendedSysctls))
	for i, s := range recommendedSysctls {
		words[i] = fmt.Sprintf("%s=%d", s.name, s.value)
	}
	return strings.Join(words, ", ")
}

// tunedSysctl is a kernel parameter that up has changed, in the kernel's own text.
type tunedSysctl struct {
	Name string `json:"name"`
	Old  string `json:"old"`
	Set  string `json:"set"`
}

// plan returns the change on m. If an earlier device on the same DIR was killed and left a changed
// value, Old is the value from before that device.
func (s sysctlSetting) plan(m host.Root, before []tunedSysctl) (tunedSysctl, bool, error) {
	now, err := m.Sysctl(s.name)
	if err != nil {
		return tunedSysctl{}, false, err
	}
	t := tunedSysctl{Name: s.name, Old: now, Set: strconv.FormatUint(s.value, 10)}
	for _, b := range before {
		if b.Name == s.name && b.Set == now {
			t.Old = b.Old
		}
	}
	if n, err := strconv.ParseUint(now, 10, 64); s.least && err == nil && n > s.value {
		return t, false, nil
	}
	return t, true, nil
}

// tuneSysctls sets the recommended values and prints them on out. It writes the record first, so
// that every change can be restored. A parameter that cannot be changed, as in a container with a
// read-only /proc/sys, is a warning.
func tuneSysctls(out io.Writer, m host.Root, rec *record) error {
	before := rec.Sysctls
	rec.Sysctls = nil
	var refused []string
	for _, s := range recommendedSysctls {
		switch t, change, err := s.plan(m, before); {
		case err != nil:
			refused = append(refused, fmt.Sprintf("%s: %v", s.name, err))
		case change:
			rec.Sysctls = append(rec.Sysctls, t)
		}
	}
	if err := rec.write(m); err != nil {
		rec.Sysctls = before
		return printStep(out, "sysctl", "warn", fmt.Sprintf("left as they are, since the old values cannot be kept: %v", err))
	}
	var set []string
	rec.Sysctls = slices.DeleteFunc(rec.Sysctls, func(t tunedSysctl) bool {
		now, err := m.Sysctl(t.Name)
		if err == nil && now != t.Set {
			err = m.WriteSysctl(t.Name, t.Set)
		}
		if err != nil {
			refused = append(refused, fmt.Sprintf("%s=%s: %v", t.Name, t.Set, err))
			return true
		}
		set = append(set, fmt.Sprintf("%s=%s (was %s)", t.Name, t.Set, now))
		return false
	})
	if err := rec.write(m); err != nil {
		refused = append(refused, fmt.Sprintf("keep what was set: %v", err))
	}
	if len(set) > 0 {
		if err := printStep(out, "sysctl", "ok", strings.Join(set, ", ")); err != nil {
			return err
		}
	}
	for _, r := range refused {
		if err := printStep(out, "sysctl", "warn", r); err != nil {
			return err
		}
	}
	return nil
}

// restoreSysctls gives every parameter in rec that is still as up set it its old value, or leaves
// it to a device that runs on and wants the same. It says what it did on out.
func restoreSysctls(out io.Writer, m host.Root, rec record, running []record) error {
	var restored []string
	for _, t := range rec.Sysctls {
		now, err := m.Sysctl(t.Name)
		switch {
		case err != nil:
		case now != t.Set:
			err = printStep(out, "sysctl", "warn", fmt.Sprintf("%s is %s by now, not the %s that up set: left alone", t.Name, now, t.Set))
		case handOver(t, running):
		case t.Old != t.Set:
			if err = m.WriteSysctl(t.Name, t.Old); err == nil {
				restored = append(restored, t.Name+"="+t.Old)
			}
		}
		if err == nil {
			continue
		}
		if err := printStep(out, "sysctl", "warn", fmt.Sprintf("restore %s=%s: %v", t.Name, t.Old, err)); err != nil {
			return err
		}
	}
	for _, rec := range running {
		if err := rec.write(m); err != nil {
			return fmt.Errorf("keep the old kernel parameters for %s: %w", rec.Dir, err)
		}
	}
	if len(restored) == 0 {
		return nil
	}
	return printStep(out, "sysctl", "ok", "restored "+strings.Join(restored, ", "))
}

// handOver tells the records of running devices that want the same value what was there before, and
// says whether there are any. A device that found the value in place has it for its old one.
func handOver(t tunedSysctl, running []record) bool {
	remaining := false
	for _, rec := range running {
		for i := range rec.Sysctls {
			if s := &rec.Sysctls[i]; s.Name == t.Name && s.Set == t.Set {
				remaining = true
				if s.Old == s.Set {
					s.Old = t.Old
				}
			}
		}
	}
	return remaining
}
