// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zramfs/loopsetup"
)

const (
	notesFile    = "control/loops"    // below DIR: the loop devices of a detached data file, a path a line; root's
	dataType     = "fuse.zramfs-data" // in the mount table: the mount on DIR/dev, which up detaches
	detachedData = "/" + detachedFile // how the kernel names the data file once that mount is detached
	detachedFile = "zram0"            // below the root of that mount
)

// notedLoop is a loop device that somebody noted when it was attached. Sequence is that of loopsetup.Info, 0 where it is not known:
// with it, a device that has been detached and taken for another file since is told from the one that was noted.
type notedLoop struct {
	Path     string `json:"path"`
	Sequence uint64 `json:"sequence"`
}

// attached returns the loop devices that are on the data file now, in the order of their places in it. A data file on a detached mount
// has no path, so there only noted devices are found.
func (d device) attached() ([]loopsetup.Info, error) {
	paths, err := loopsetup.Find(d.data())
	if err != nil {
		return nil, err
	}
	names, sequence := make([]string, len(d.noted)), make(map[string]uint64)
	for i, n := range d.noted {
		names[i], sequence[n.Path] = n.Path, n.Sequence
	}
	hidden, err := loopsetup.FindAmong(names, detachedData)
	if err != nil {
		return nil, err
	}
	var loops []loopsetup.Info
	for i, path := range append(paths, hidden...) {
		info, err := loopsetup.Inspect(path)
		if errors.Is(err, loopsetup.ErrNotAttached) {
			continue // detached since it was found
		}
		if err != nil {
			return nil, err
		}
		if want := sequence[path]; i >= len(paths) && want != 0 && info.Sequence != 0 && info.Sequence != want {
			continue // somebody else's by now
		}
		loops = append(loops, info)
	}
	slices.SortStableFunc(loops, func(a, b loopsetup.Info) int { return cmp.Compare(a.Offset, b.Offset) })
	return loops, nil
}

// noteLoops adds what was found on d to what is noted, so that attached goes on telling these devices from others.
func (d *device) noteLoops(loops []loopsetup.Info) {
	for _, info := range loops {
		d.noted = slices.DeleteFunc(d.noted, func(n notedLoop) bool { return n.Path == info.Path })
		d.noted = append(d.noted, notedLoop{info.Path, info.Sequence})
	}
}

// notedLoops collects what is noted of the device on dir: by up, in its record, which is root's to read; in the status; and where
// there is neither, in the file from which the status has it.
func notedLoops(m machine, dir string, status []byte) []notedLoop {
	var said struct{ Loops []string }
	if err := json.Unmarshal(status, &said); err != nil {
		said.Loops = nil // a status that cannot be read is reported by whoever asked for it
	}
	rec, err := readRecord(m, dir)
	if err != nil && status == nil {
		said.Loops = readNotes(dir)
	}
	noted := rec.Loops
	for _, path := range said.Loops {
		if !slices.ContainsFunc(noted, func(n notedLoop) bool { return n.Path == path }) {
			noted = append(noted, notedLoop{Path: path})
		}
	}
	return noted
}

// readNotes reads the notes in DIR, nothing where there are none or they may not be read.
func readNotes(dir string) []string {
	text, err := bounded(answerTime, func() ([]byte, error) { return os.ReadFile(filepath.Join(dir, notesFile)) })
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// hideData takes the data file of the device on dir out of everybody's sight once the loop devices loops are on it, so that nobody can
// open it beside them, nor end its connection by a forced unmount. It writes the devices' paths down first, since from then on they
// cannot be found by the path of their file. A device whose data file is not on a mount of its own stays as it is.
func hideData(dir string, loops []string) error {
	if err := writeNotes(dir, loops); err != nil {
		return err
	}
	data := filepath.Join(dir, filepath.Dir(dataFile))
	if separate, err := isMountOf(dataType, data); err != nil || !separate {
		return err
	}
	return detachMount(data)
}

// writeNotes writes one path a line to DIR/control/loops; a server that keeps no notes has no such file.
func writeNotes(dir string, loops []string) error {
	path := filepath.Join(dir, notesFile)
	_, err := bounded(answerTime, func() (struct{}, error) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if errors.Is(err, os.ErrNotExist) {
			return struct{}{}, nil
		}
		if err != nil {
			return struct{}{}, err
		}
		_, err = f.WriteString(strings.Join(loops, "\n") + "\n")
		return struct{}{}, errors.Join(err, f.Close())
	})
	if err != nil {
		return fmt.Errorf("note the loop devices in %s: %w", path, err)
	}
	return nil
}

// errStillAttached means that a loop device did not go although it was told to.
var errStillAttached = errors.New("a loop device is still attached")

// detachTime bounds the wait for loop devices that are being let go: something like udev may be looking at one.
const detachTime = 10 * time.Second

// waitDetached waits until no loop device is on the data file.
func (d device) waitDetached() error {
	for end := time.Now().Add(detachTime); ; time.Sleep(busyPause) {
		loops, err := d.attached()
		if err != nil || len(loops) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: %v is on %s, and somebody has it open", errStillAttached, loopPaths(loops), d.data())
		}
	}
}

func loopPaths(loops []loopsetup.Info) []string {
	paths := make([]string, len(loops))
	for i, info := range loops {
		paths[i] = info.Path
	}
	return paths
}
