// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"io"
	"os"
	"slices"

	"github.com/zramfs/zramfs/internal/host"
)

// Forget restores the kernel parameters that up changed for the device d and for ended devices on
// any DIR, and removes their records: a killed up leaves its changes to the next command.
func Forget(out io.Writer, m host.Root, d Device) error {
	defer LockRecords(m)()
	remaining := ReadRecords(m)
	var errs error
	for _, rec := range slices.Clone(remaining) {
		own := d.Record != nil && d.Record.File == rec.File
		if own || rec.Err != nil && rec.Of(d.Dir) || rec.Err == nil && !rec.Alive() {
			errs = errors.Join(errs, forgetRecord(out, m, rec, remaining))
			remaining = slices.DeleteFunc(remaining, func(r Record) bool { return r.File == rec.File })
		}
	}
	return errs
}

// forgetRecord restores the kernel parameters, or leaves them to devices that want the same values,
// and removes the record.
func forgetRecord(out io.Writer, m host.Root, rec Record, all []Record) error {
	if rec.Err != nil {
		return errors.Join(rec.Err, rec.Remove(m))
	}
	if len(rec.Tuned) > 0 {
		if err := restoreTuned(out, m, rec, otherRecords(rec, all)); err != nil {
			return err
		}
	}
	return rec.Remove(m)
}

// ForgetEnded is Forget for the keeper of a device that has ended by itself, for example after
// swapoff. It asks no serving process, and keeps the record of a device that still has loop
// devices.
func ForgetEnded(out io.Writer, m host.Root) error {
	defer LockRecords(m)()
	self, _ := host.Local.Process(os.Getpid())
	all := ReadRecords(m)
	var errs error
	for _, rec := range all {
		loops, err := Device{Noted: rec.Loops, Elsewhere: true}.Attached()
		if rec.Err == nil && rec.Keeper == self.PID && rec.Started == self.Start && err == nil && len(loops) == 0 {
			errs = errors.Join(errs, forgetRecord(out, m, rec, all))
		}
	}
	return errs
}

// otherRecords returns the records of other running devices with changed parameters.
func otherRecords(rec Record, all []Record) []Record {
	return slices.DeleteFunc(slices.Clone(all), func(r Record) bool {
		return r.File == rec.File || r.Err != nil || len(r.Tuned) == 0 || !r.Alive()
	})
}
