// SPDX-License-Identifier: Apache-2.0

package uprecord

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/tune"
)

// A Step is called for each thing that was done: its name, "ok" or "warn", and a line of detail.
// Its error ends the function that calls it.
type Step func(name, state, detail string) error

// forget restores the kernel parameters, or leaves them to devices that want the same values,
// and removes the record.
func forget(step Step, m host.Root, rec Record, all []Record) error {
	if rec.Err != nil {
		return errors.Join(rec.Err, rec.Remove(m))
	}
	if len(rec.Tuned) > 0 {
		if err := restore(step, m, rec, others(rec, all)); err != nil {
			return err
		}
	}
	return rec.Remove(m)
}

// Forget restores the kernel parameters that up changed for the device on dir with the record own,
// nil for none, and for ended devices on any directory, and removes their records: a killed up
// leaves its changes to the next command.
func Forget(step Step, m host.Root, dir string, own *Record) error {
	defer Lock(m)()
	remaining := Read(m)
	var errs error
	for _, rec := range slices.Clone(remaining) {
		if own != nil && own.File == rec.File || rec.Err != nil && rec.Of(dir) || rec.Err == nil && !rec.Alive() {
			errs = errors.Join(errs, forget(step, m, rec, remaining))
			remaining = slices.DeleteFunc(remaining, func(r Record) bool { return r.File == rec.File })
		}
	}
	return errs
}

// ForgetEnded is Forget for the keeper of a device that has ended by itself, for example after
// swapoff. It asks no serving process, and keeps the record of a device that still has loop
// devices.
func ForgetEnded(step Step, m host.Root) error {
	defer Lock(m)()
	self, _ := host.Local.Process(os.Getpid())
	all := Read(m)
	var errs error
	for _, rec := range all {
		loops, err := rec.attached()
		if rec.Err == nil && rec.Keeper == self.PID && rec.Started == self.Start && err == nil && len(loops) == 0 {
			errs = errors.Join(errs, forget(step, m, rec, all))
		}
	}
	return errs
}

// others returns the records of other running devices with changed parameters.
func others(rec Record, all []Record) []Record {
	return slices.DeleteFunc(slices.Clone(all), func(r Record) bool {
		return r.File == rec.File || r.Err != nil || len(r.Tuned) == 0 || !r.Alive()
	})
}

// Tune makes settings for a device that is about to come up. Its record holds every old value
// before the kernel gets a new one.
func Tune(step Step, m host.Root, settings []tune.Setting, rec *Record) error {
	running := others(*rec, Read(m))
	var report tune.Report
	rec.Tuned, report = tune.Apply(m, settings, changesOf(running), func(own []tune.Change) error {
		rec.Tuned = own
		return errors.Join(rec.Write(m), writeAll(m, running))
	})
	return eachStep(step, "", report)
}

// Retune restores the given parameters of a device in use and makes settings in their place. It
// writes rec, which has the other values that the device's record is to have.
func Retune(step Step, m host.Root, parameters []tune.Parameter, settings []tune.Setting, rec *Record) error {
	defer Lock(m)()
	all := Read(m)
	for _, r := range all { // another command may have changed it since rec was read
		if r.File == rec.File && r.Err == nil {
			rec.Tuned, rec.Slots = r.Tuned, r.Slots
		}
	}
	running := others(*rec, all)
	var kept, restored []tune.Change
	for _, c := range rec.Tuned {
		if slices.Contains(parameters, c.Parameter) {
			restored = append(restored, c)
		} else {
			kept = append(kept, c)
		}
	}
	if err := eachStep(step, "restored ", tune.Restore(m, restored, changesOf(running))); err != nil {
		return err
	}
	own, report := tune.Apply(m, settings, changesOf(running), func(own []tune.Change) error {
		rec.Tuned = slices.Concat(kept, own)
		return errors.Join(rec.Write(m), writeAll(m, running))
	})
	rec.Tuned = slices.Concat(kept, own)
	return eachStep(step, "", report)
}

// Tunes reports whether a running device has set the parameter.
func Tunes(m host.Root, p tune.Parameter) bool {
	return slices.ContainsFunc(Read(m), func(rec Record) bool {
		return rec.Err == nil && rec.Sets(p) && rec.Alive()
	})
}

// Sets reports whether up has set the parameter for the device.
func (rec *Record) Sets(p tune.Parameter) bool {
	return slices.ContainsFunc(rec.Tuned, func(c tune.Change) bool { return c.Parameter == p })
}

// restore restores what up changed for the device of rec; running are the records of the other
// running devices.
func restore(step Step, m host.Root, rec Record, running []Record) error {
	report := tune.Restore(m, rec.Tuned, changesOf(running))
	if err := eachStep(step, "restored ", report); err != nil {
		return err
	}
	return writeAll(m, running)
}

// changesOf returns the changes in records, which share their memory with them.
func changesOf(records []Record) [][]tune.Change {
	changes := make([][]tune.Change, len(records))
	for i, rec := range records {
		changes[i] = rec.Tuned
	}
	return changes
}

// writeAll writes the records of other devices after their old values may have changed.
func writeAll(m host.Root, records []Record) error {
	for _, rec := range records {
		if err := rec.Write(m); err != nil {
			return fmt.Errorf("keep the old kernel parameters for %s: %w", rec.Dir, err)
		}
	}
	return nil
}

// eachStep makes of a report a step of what was done, after verb, and one for each warning.
func eachStep(step Step, verb string, r tune.Report) error {
	if len(r.Done) > 0 {
		if err := step("tune", "ok", verb+strings.Join(r.Done, ", ")); err != nil {
			return err
		}
	}
	for _, w := range r.Warnings {
		if err := step("tune", "warn", w); err != nil {
			return err
		}
	}
	return nil
}
