// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// recordDir holds a record for each device that up has turned on. It lies outside of DIR, since what it says is needed most when the
// server of DIR is dead.
const recordDir = "run/zramfs"

// record is what up leaves for down. Nothing in it is taken on trust: a loop device counts only with its sequence number, and a kernel
// parameter is restored only if it is what up set. So a record that outlives its device, as in a container that is started again, does
// no harm.
type record struct {
	Dir     string        `json:"dir"`
	Loops   []notedLoop   `json:"loops"`
	Sysctls []tunedSysctl `json:"sysctls"`
}

// recordPath is where the record of the device on dir lies, which is absolute.
func recordPath(m machine, dir string) string {
	return filepath.Join(m.path(recordDir), url.PathEscape(dir)+".json")
}

// readRecord returns the record of the device on dir; the error is fs.ErrNotExist when there is none.
func readRecord(m machine, dir string) (record, error) {
	path := recordPath(m, dir)
	text, err := os.ReadFile(path)
	if err != nil {
		return record{}, err
	}
	var rec record
	if err := json.Unmarshal(text, &rec); err != nil {
		return record{}, fmt.Errorf("read %s: %w", path, err)
	}
	return rec, nil
}

// write replaces the record by this one, at once.
func (rec record) write(m machine) error {
	text, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(m.path(recordDir), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(m.path(recordDir), ".new-") // for its owner alone
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), recordPath(m, rec.Dir))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// removeRecord removes the record of the device on dir, and the directory with the last one.
func removeRecord(m machine, dir string) error {
	err := os.Remove(recordPath(m, dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_ = os.Remove(m.path(recordDir)) // fails while there are others
	}
	return err
}

// forget restores the kernel parameters that up changed for the device on dir and removes its record. All are the devices that run; a
// record without sysctls, or none, is no reason to say anything.
func forget(out io.Writer, m machine, dir string, all []device) error {
	defer lockRecords(m)()
	rec, err := readRecord(m, dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return errors.Join(err, removeRecord(m, dir))
	}
	if len(rec.Sysctls) > 0 {
		if err := restoreSysctls(out, m, rec, otherRecords(m, dir, all)); err != nil {
			return err
		}
	}
	return removeRecord(m, dir)
}

// otherRecords returns the records of the devices in all that are not on dir and have changed parameters.
func otherRecords(m machine, dir string, all []device) []record {
	var records []record
	for _, d := range all {
		if d.Dir == dir {
			continue
		}
		if rec, err := readRecord(m, d.Dir); err == nil && len(rec.Sysctls) > 0 {
			records = append(records, rec)
		}
	}
	return records
}
