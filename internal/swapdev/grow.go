// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/term"
)

// growTime bounds the wait for a device that is made, or made anew with its size.
const growTime = 30 * time.Second

// Grow turns swap on on an extra device of the directory of first, which is swap. Run's Tell and
// Swap.Tune have no part in it.
func (u *Up) Grow(first Device) error {
	u.first = first
	return u.do(u.add, u.checkSafety, u.attach, u.format, u.keep, u.note, u.hide, u.turnOn, u.letGo, u.freeExtra)
}

// PriorityBelow returns the swap priority below all areas of d and of its extra devices: the
// kernel uses them again before it takes a slot of an area with that priority.
func PriorityBelow(d Device) (int, error) {
	all, err := FindExtra(d)
	if err != nil {
		return 0, err
	}
	least := d.Swap().Priority
	for _, f := range append(all, d) {
		for _, s := range f.Swaps {
			least = min(least, s.Priority)
		}
	}
	return max(0, least-1), nil
}

// add makes the extra device and gives it its settings and its size.
func (u *Up) add() error {
	text, err := helper.CallTimeout(growTime, helper.Read, filepath.Join(u.first.Dir, "control/hot_add"))
	number, nerr := strconv.Atoi(strings.TrimSpace(string(text)))
	if err = errors.Join(err, nerr); err != nil {
		return fmt.Errorf("add a device to %s: %w", u.first.Word(), cmp.Or(u.first.Gone(), explainAdd(err)))
	}
	u.Config.Dir = fusefs.ExtraDir(u.first.Dir, number)
	u.Report = &status.Report{Dir: u.Config.Dir}
	u.undo = append(u.undo, u.remove)
	if err := u.readReport(); err != nil {
		return err
	}
	for _, a := range [][2]string{
		{"comp_algorithm", u.Config.Algorithm.String()},
		{"mem_limit", strconv.FormatUint(u.Config.MemLimit, 10)},
		{"disksize", strconv.FormatUint(u.Config.Disksize, 10)},
	} {
		if _, err := helper.CallTimeout(growTime, helper.Write, filepath.Join(u.Config.Dir, "block/zram0", a[0]), a[1]); err != nil {
			return fmt.Errorf("set %s=%s of an extra device: %w", a[0], a[1], err)
		}
	}
	if err := u.readReport(); err != nil {
		return err
	}
	detail := fmt.Sprintf("%s, %s, %s", Device{Dir: u.Config.Dir}.Data(), term.Size(u.Report.Disksize), u.Config.Algorithm)
	return printStep(u.Out, "add", "ok", detail)
}

// remove undoes add. The keeper is no process that this one has started, and unknown where the
// device did not answer, so no signal goes to it.
func (u *Up) remove() error {
	return UnmountAndWait(Device{Dir: u.Report.Dir, Keeper: u.Report.PID})
}

// readReport asks the extra device.
func (u *Up) readReport() error {
	s, err := ReadStatus(u.Config.Dir)
	if err == nil {
		u.Report.PID, u.Report.Disksize, u.Report.Protections = s.KeeperPID, s.Disksize, s.Protections
	}
	return err
}

// explainAdd says what an error of control/hot_add means.
func explainAdd(err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT):
		return errors.New("it is an extra device itself")
	case errors.Is(err, syscall.EACCES):
		return errors.New("permission denied: run as root")
	case errors.Is(err, syscall.ENOMEM):
		return fmt.Errorf("%w: it has as many as there can be, or its log says why", err)
	}
	return err
}

// freeExtra has the process that makes the kernel free slots know the new areas too: where they
// are a large part of all swap, it would hold no ballast for the others.
func (u *Up) freeExtra() error {
	p := u.first.FindSlots()
	if p.PID == 0 {
		return nil
	}
	all, added := areasWith(u.first), LoopPaths(u.Device.Loops)
	restart := func(areas []string) error {
		return errors.Join(endSlots(u.first.FindSlots()), startSlots(host.Local, u.first.Record, p.Policy, u.first.Keeper, areas))
	}
	u.undo = append(u.undo, func() error {
		return restart(slices.DeleteFunc(slices.Clone(all), func(area string) bool { return slices.Contains(added, area) }))
	})
	if err := restart(all); err != nil {
		return printStep(u.Out, "slots", "warn", fmt.Sprintf("the kernel keeps the slots of pages that are in memory again: %v", err))
	}
	return printStep(u.Out, "slots", "ok", string(p.Policy))
}
