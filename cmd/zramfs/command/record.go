// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/tune"
)

// recordDir holds a record for each device that up has turned on. It lies outside DIR because its
// contents are needed most when the server of DIR is dead, or DIR is in another mount namespace.
const recordDir = "run/zramfs"

// record is the file that up leaves for the other commands. Every entry is verified: a loop device
// by its sequence number, a process by its start time, and a kernel parameter is restored only if
// it still has up's value. So a record that outlives its device, as in a restarted container, does
// no harm.
type record struct {
	Dir   string      `json:"dir"`
	Loops []notedLoop `json:"loops"`

	// Tuned has the parameters of the kernel that up --tune changed. Its key is from the time of
	// --sysctl: a device that an older version has up keeps its record, and the keeper of such a
	// device reads and writes those of newer ones.
	Tuned []tune.Change `json:"sysctls"`

	// Keeper is the PID of the keeper in the PID namespace of up, Started its start time; see
	// host.Process.Start. Records of older versions lack them, and Mount.
	Keeper  int    `json:"keeper,omitempty"`
	Started uint64 `json:"started,omitempty"`
	// Mount is the number of the attributes' file system (st_dev), unique while it is mounted
	// anywhere.
	Mount int `json:"mount,omitempty"`

	// Slots is nil if the kernel keeps slots.
	Slots *notedSlots `json:"slots,omitempty"`

	file string // its path; empty before it is written
	err  error  // why it cannot be read
}

// newRecordPath returns the path of a new record for a device on dir. Two devices may have the same
// dir: in two mount namespaces, or if one is dead.
func newRecordPath(m host.Root, dir string) string {
	return filepath.Join(m.Path(recordDir), fmt.Sprintf("%s@%08x.json", url.PathEscape(dir), rand.Uint32()))
}

// readRecords returns all records, those of older versions last; none without the right to read
// them.
func readRecords(m host.Root) []record {
	paths, err := filepath.Glob(filepath.Join(m.Path(recordDir), "*.json"))
	if err != nil {
		return nil
	}
	var all []record
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		var rec record
		if err == nil {
			err = json.Unmarshal(text, &rec)
		}
		if err != nil {
			rec.err = fmt.Errorf("read %s: %w", path, err)
		}
		rec.file = path
		all = append(all, rec)
	}
	slices.SortStableFunc(all, func(a, b record) int { return b.age() - a.age() })
	return all
}

// age is 1 for a record that names the device's processes, else 0.
func (rec record) age() int { return min(rec.Mount, 1) }

// of reports whether it is a record of a device on dir; an unreadable record is known by its name.
func (rec record) of(dir string) bool {
	if rec.err != nil {
		name, _ := strings.CutSuffix(filepath.Base(rec.file), ".json")
		return name == url.PathEscape(dir) || strings.HasPrefix(name, url.PathEscape(dir)+"@")
	}
	return rec.Dir == dir
}

// keeper returns the keeper's process in this PID namespace, or 0 if it has ended or is not visible
// here.
func (rec record) keeper() int {
	if rec.Keeper == 0 {
		return 0
	}
	if p, ok := host.Local.Process(rec.Keeper); ok && p.Start == rec.Started {
		return p.PID
	}
	for _, p := range serverProcesses() { // its PID differs in up's namespace
		if p.Start == rec.Started && host.Local.InnerPID(p.PID) == rec.Keeper {
			return p.PID
		}
	}
	return 0
}

// alive reports whether the device exists: its keeper runs, or a loop device is on its data file.
func (rec record) alive() bool {
	if rec.keeper() != 0 {
		return true
	}
	loops, err := device{noted: rec.Loops, away: true}.attached()
	return err != nil || len(loops) > 0
}

// write replaces the record by this one atomically.
func (rec *record) write(m host.Root) error {
	text, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(m.Path(recordDir), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(m.Path(recordDir), ".new-") // for its owner alone
	if err != nil {
		return err
	}
	path := rec.file
	if path == "" {
		path = newRecordPath(m, rec.Dir)
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	rec.file = path
	return nil
}

// remove removes the record, and the directory with the last record.
func (rec record) remove(m host.Root) error {
	err := os.Remove(rec.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_ = os.Remove(m.Path(recordDir)) // fails while there are others
	}
	return err
}

// forget restores the kernel parameters that up changed for the device d and for ended devices on
// any DIR, and removes their records: a killed up leaves its changes to the next command.
func forget(out io.Writer, m host.Root, d device) error {
	defer lockRecords(m)()
	remaining := readRecords(m)
	var errs error
	for _, rec := range slices.Clone(remaining) {
		own := d.rec != nil && d.rec.file == rec.file
		if own || rec.err != nil && rec.of(d.Dir) || rec.err == nil && !rec.alive() {
			errs = errors.Join(errs, rec.forget(out, m, remaining))
			remaining = slices.DeleteFunc(remaining, func(r record) bool { return r.file == rec.file })
		}
	}
	return errs
}

// forget restores the kernel parameters, or leaves them to devices that want the same values, and
// removes the record.
func (rec record) forget(out io.Writer, m host.Root, all []record) error {
	if rec.err != nil {
		return errors.Join(rec.err, rec.remove(m))
	}
	if len(rec.Tuned) > 0 {
		if err := restoreTuned(out, m, rec, otherRecords(rec, all)); err != nil {
			return err
		}
	}
	return rec.remove(m)
}

// forgetEnded is forget for the keeper of a device that has ended by itself, for example after
// swapoff. It asks no serving process, and keeps the record of a device that still has loop
// devices.
func forgetEnded(out io.Writer, m host.Root) error {
	defer lockRecords(m)()
	self, _ := host.Local.Process(os.Getpid())
	all := readRecords(m)
	var errs error
	for _, rec := range all {
		loops, err := device{noted: rec.Loops, away: true}.attached()
		if rec.err == nil && rec.Keeper == self.PID && rec.Started == self.Start && err == nil && len(loops) == 0 {
			errs = errors.Join(errs, rec.forget(out, m, all))
		}
	}
	return errs
}

// otherRecords returns the records of other running devices with changed parameters.
func otherRecords(rec record, all []record) []record {
	return slices.DeleteFunc(slices.Clone(all), func(r record) bool {
		return r.file == rec.file || r.err != nil || len(r.Tuned) == 0 || !r.alive()
	})
}
