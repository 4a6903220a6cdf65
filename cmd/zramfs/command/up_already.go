// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/slots"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
)

// upAlready returns the first device that is used as swap, or nil. A device mounted there without
// swap may hold data, and is an error.
func upAlready(all []devices.Device) (*devices.Device, error) {
	if len(all) == 0 {
		return nil, nil
	}
	d := all[0]
	if err := refuseUp(d); err != nil {
		return nil, err
	}
	if d.Swap() == nil {
		return nil, fmt.Errorf("%s is mounted, but not used as swap: zramfs down %[1]s removes it, if no process uses it", d.Dir)
	}
	if d.Status == nil {
		return nil, fmt.Errorf("%s is swap, but %w: zramfs status %s says what to do", devices.AreaNames(devices.LoopPaths(d.Loops)), d.Err, d.Dir)
	}
	return &d, nil
}

// A wish is the request of an up command.
type wish struct {
	cfg  daemon.Config
	swap swapConfig
	set  func(flag string) bool // whether the flag was given
}

// sayUp prints that d is up. It fails if d has other values than w asks for.
func sayUp(c *cli.Context, said *narration, d devices.Device, w wish) error {
	if has, wants := w.differs(d); len(has) > 0 {
		return fmt.Errorf("%s is up with %s; you asked for %s. To change it: zramfs down %[1]s, then up",
			d.Dir, strings.Join(has, ", "), strings.Join(wants, ", "))
	}
	if err := reviveSlots(d); err != nil {
		return err
	}
	swap := d.Swap()
	switch said.how {
	case flagQuiet:
		return nil
	case flagJSON:
		s := newSummary(daemon.Config{Dir: d.Dir, Disksize: d.Status.Disksize, MemLimit: d.Status.MemLimit, Algorithm: w.cfg.Algorithm},
			&daemon.Report{Dir: d.Dir, Disksize: d.Status.Disksize}, d.Status, said)
		s.Algorithm, s.Loops, s.Priority = d.Status.Algorithm, devices.LoopPaths(d.Loops), &swap.Priority
		return printJSON(c.App.Writer, map[string]summary{"up": s})
	}
	_, err := fmt.Fprintf(c.App.Writer, "%s is up already: %s of swap at %s, priority %d\n",
		d.Dir, term.Size(d.Status.Disksize), devices.AreaNames(devices.LoopPaths(d.Loops)), swap.Priority)
	return err
}

// differs returns, for each given flag that differs, d's value and the wanted one.
func (w wish) differs(d devices.Device) (has, wants []string) {
	note := func(flag, is, want string) {
		if w.set(flag) && is != want {
			has, wants = append(has, is), append(wants, want)
		}
	}
	limit := func(n uint64) string {
		if n == 0 {
			return "no memory limit"
		}
		return "a memory limit of " + term.ExactSize(n)
	}
	s := d.Status
	note(flagSize, term.ExactSize(s.Disksize), term.ExactSize(w.cfg.Disksize))
	note(flagAlgorithm, "algorithm "+s.Algorithm, "algorithm "+w.cfg.Algorithm.String())
	note(flagMemLimit, limit(s.MemLimit), limit(w.cfg.MemLimit))
	note(flagPriority, fmt.Sprintf("priority %d", d.Swap().Priority), fmt.Sprintf("priority %d", w.swap.priority))
	if policy := d.FindSlots().Policy; policy != "" && s.Disksize >= slots.MinDevice {
		note(flagSlots, "slots "+string(policy), "slots "+string(w.swap.slots))
	}
	if d.Record != nil && d.Record.Tune != "" {
		for _, flag := range []string{flagTune, flagSysctl} { // one of them is given at most
			note(flag, "tune "+d.Record.Tune, "tune "+w.swap.tune)
		}
	}
	note(flagDevices, fmt.Sprintf("loop devices: %d", len(d.Loops)), fmt.Sprintf("loop devices: %d", w.swap.devices))
	return has, wants
}

// refuseUp returns the reason why DIR of d can take no device: a device there is in another mount
// namespace, dead or silent.
func refuseUp(d devices.Device) error {
	switch {
	case errors.Is(d.Err, devices.ErrDead) && len(d.Swaps) > 0:
		p := devices.DiagnoseDead(d)
		return fmt.Errorf("%s: %s: %s", d.Title(), p.What, p.Fix)
	case d.Away:
		p := devices.DiagnoseAway(d)
		return fmt.Errorf("%s: %s; %s", d.Title(), p.What, p.Fix)
	}
	return nil
}
