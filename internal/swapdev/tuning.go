// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/tune"
)

// applyTune makes settings for a device that is about to come up, and prints them on out. Its
// record holds every old value before the kernel gets a new one.
func applyTune(out io.Writer, m host.Root, settings []tune.Setting, rec *Record) error {
	running := otherRecords(*rec, ReadRecords(m))
	var report tune.Report
	rec.Tuned, report = tune.Apply(m, settings, changesOf(running), func(own []tune.Change) error {
		rec.Tuned = own
		return errors.Join(rec.Write(m), writeRecords(m, running))
	})
	return printTuned(out, "", report)
}

// restoreTuned restores what up changed for the device of rec, whose other running devices are
// given. It says what it did on out.
func restoreTuned(out io.Writer, m host.Root, rec Record, running []Record) error {
	report := tune.Restore(m, rec.Tuned, changesOf(running))
	if err := printTuned(out, "restored ", report); err != nil {
		return err
	}
	return writeRecords(m, running)
}

// changesOf returns the changes in records, which share their memory with them.
func changesOf(records []Record) [][]tune.Change {
	changes := make([][]tune.Change, len(records))
	for i, rec := range records {
		changes[i] = rec.Tuned
	}
	return changes
}

// writeRecords writes the records of other devices after their old values may have changed.
func writeRecords(m host.Root, records []Record) error {
	for _, rec := range records {
		if err := rec.Write(m); err != nil {
			return fmt.Errorf("keep the old kernel parameters for %s: %w", rec.Dir, err)
		}
	}
	return nil
}

// printTuned prints a report as a line of what was done, after verb, and a line for each warning.
func printTuned(out io.Writer, verb string, r tune.Report) error {
	if len(r.Done) > 0 {
		if err := printStep(out, "tune", "ok", verb+strings.Join(r.Done, ", ")); err != nil {
			return err
		}
	}
	for _, w := range r.Warnings {
		if err := printStep(out, "tune", "warn", w); err != nil {
			return err
		}
	}
	return nil
}
