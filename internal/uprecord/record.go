// SPDX-License-Identifier: Apache-2.0

// Package uprecord keeps the records that up leaves for other commands and for the keeper: a file
// for each device that has swap, with its loop devices, processes, and the kernel parameters that
// up has changed. [Forget] and [ForgetEnded] restore these.
//
// The caller holds [Lock] while it reads and writes records. No state is kept between calls.
package uprecord

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/tune"
)

// Loop is a loop device in a record. Sequence is loopsetup.Info's, 0 if unknown: it tells the
// recorded device from one that was detached and attached to another file since.
type Loop struct {
	Path     string `json:"path"`
	Sequence uint64 `json:"sequence"`
	// Before are the requests that it had completed before it was attached; 0 if unknown.
	Before host.BlockTimes `json:"before,omitzero"`
}

// Slots is the record's entry for the process that makes the kernel free slots.
type Slots struct {
	Policy ballast.Policy `json:"policy"`
	// PID is in the PID namespace of up, Started the start time; see host.Process.Start.
	PID     int    `json:"pid"`
	Started uint64 `json:"started"`
}

// Process returns the process in this PID namespace; false if it has ended or is not visible here.
// It reads no memory that may be in swap.
func (n Slots) Process() (host.Process, bool) {
	if p, ok := host.Local.Process(n.PID); ok && p.Start == n.Started {
		return p, true
	}
	for _, p := range host.Local.ProcessesNamed(ballast.ProcessName) { // its PID differs in up's namespace
		if p.Start == n.Started && host.Local.InnerPID(p.PID) == n.PID {
			return p, true
		}
	}
	return host.Process{}, false
}

// Dir holds a record for each device that up has turned on. It lies outside DIR because its
// contents are needed most when the server of DIR is dead, or DIR is in another mount namespace.
const Dir = "run/zramfs"

// recordTries bounds the tries to make a file in that directory while others remove it.
const recordTries = 100

// Record is the file that up leaves for the other commands. Every entry is verified: a loop device
// by its sequence number, a process by its start time, and a kernel parameter is restored only if
// it still has up's value. So a record that outlives its device, as in a restarted container, does
// no harm.
type Record struct {
	Dir string `json:"dir"`
	// DirBytes is Dir where that is no UTF-8, which JSON cannot hold.
	DirBytes []byte `json:"dir_bytes,omitempty"`
	Loops    []Loop `json:"loops"`

	// Tuned has the parameters of the kernel that up --tune changed.
	Tuned []tune.Change `json:"tuned"`
	// Tune is the value of --tune.
	Tune string `json:"tune,omitempty"`

	// Zswap is the value of --zswap.
	Zswap string `json:"zswap,omitempty"`

	// Discard is when the kernel tells the device about free space, as --discard has it.
	Discard string `json:"discard,omitempty"`

	// Section is the section or the instance of a unit that the device was asked for by; empty for
	// none.
	Section string `json:"section,omitempty"`

	// Keeper is the PID of the keeper in the PID namespace of up, Started its start time; see
	// host.Process.Start.
	Keeper  int    `json:"keeper,omitempty"`
	Started uint64 `json:"started,omitempty"`
	// Mount is the number of the attributes' file system (st_dev), unique while it is mounted
	// anywhere.
	Mount int `json:"mount,omitempty"`

	// Slots is nil if the kernel keeps slots.
	Slots *Slots `json:"slots,omitempty"`

	File string `json:"-"` // its path; empty before it is written
	Err  error  `json:"-"` // why it cannot be read
}

// newRecordPath returns the path of a new record for a device on dir. Two devices may have the same
// dir: in two mount namespaces, or if one is dead.
func newRecordPath(m host.Root, dir string) string {
	return filepath.Join(m.Path(Dir), fmt.Sprintf("%s@%08x.json", recordName(dir), rand.Uint32()))
}

// nameMost bounds what recordName returns, in bytes: file systems take 255 in all.
const nameMost = 200

// recordName begins the names of the records of dir. A longer one ends with a hash in place of its
// rest.
func recordName(dir string) string {
	name := url.PathEscape(dir)
	if len(name) > nameMost {
		hash := sha256.Sum256([]byte(dir))
		name = fmt.Sprintf("%s.%x", name[:nameMost-17], hash[:8])
	}
	return name
}

// Read returns all records; none without the right to read them.
func Read(m host.Root) []Record {
	paths, err := filepath.Glob(filepath.Join(m.Path(Dir), "*.json"))
	if err != nil {
		return nil
	}
	var all []Record
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		var rec Record
		if err == nil {
			err = json.Unmarshal(text, &rec)
		}
		if err != nil {
			rec.Err = fmt.Errorf("read %s: %w", path, err)
		}
		if rec.File = path; rec.DirBytes != nil {
			rec.Dir = string(rec.DirBytes)
		}
		all = append(all, rec)
	}
	return all
}

// Of reports whether it is a record of a device on dir; an unreadable record is known by its name.
func (rec Record) Of(dir string) bool {
	if rec.Err != nil {
		name, _ := strings.CutSuffix(filepath.Base(rec.File), ".json")
		return name == recordName(dir) || strings.HasPrefix(name, recordName(dir)+"@")
	}
	return rec.Dir == dir
}

// KeeperPID returns the keeper's process in this PID namespace, or 0 if it has ended or is not
// visible here.
func (rec Record) KeeperPID() int {
	if rec.Keeper == 0 {
		return 0
	}
	if p, ok := host.Local.Process(rec.Keeper); ok && p.Start == rec.Started {
		return p.PID
	}
	for _, p := range host.Local.ProcessesNamed(status.ServerName) { // its PID differs in up's namespace
		if p.Start == rec.Started && host.Local.InnerPID(p.PID) == rec.Keeper {
			return p.PID
		}
	}
	return 0
}

// Alive reports whether the device exists: its keeper runs, or a loop device is on its data file.
func (rec Record) Alive() bool {
	if rec.KeeperPID() != 0 {
		return true
	}
	loops, err := rec.attached()
	return err != nil || len(loops) > 0
}

// Write replaces the record by this one atomically.
func (rec *Record) Write(m host.Root) error {
	if !utf8.ValidString(rec.Dir) {
		rec.DirBytes = []byte(rec.Dir)
	}
	text, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	f, err := newRecordFile(m.Path(Dir))
	if err != nil {
		return err
	}
	path := rec.File
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
	rec.File = path
	return nil
}

// newRecordFile makes a file for its owner alone in the directory of records, and that too. Another
// command that removes the last record may remove it at any instant.
func newRecordFile(dir string) (*os.File, error) {
	for try := 1; ; try++ {
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			var f *os.File
			if f, err = os.CreateTemp(dir, ".new-"); err == nil {
				return f, nil
			}
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) || try == recordTries {
			return nil, err
		}
	}
}

// Remove removes the record, and the directory with the last record.
func (rec Record) Remove(m host.Root) error {
	err := os.Remove(rec.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_ = os.Remove(m.Path(Dir)) // fails while there are others
	}
	return err
}
