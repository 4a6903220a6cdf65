// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/aside"
	"github.com/zramfs/zramfs/loopsetup"
)

const (
	notesFile    = "control/loops"    // below DIR: the loop devices of a detached data file, a path a line; root's
	dataType     = "fuse.zramfs-data" // in the mount table: the mount on DIR/dev, which up detaches
	detachedData = "/" + detachedFile // how the kernel names the data file once that mount is detached
	detachedFile = "zram0"            // below the root of that mount
)

// notedLoop is a loop device in a record. Sequence is loopsetup.Info's, 0 if unknown: it tells the
// recorded device from one that was detached and attached to another file since.
type notedLoop struct {
	Path     string `json:"path"`
	Sequence uint64 `json:"sequence"`
}

// attached returns the loop devices on the data file, by offset. A data file on a detached mount
// has no path, so only recorded devices are found there.
func (d device) attached() ([]loopsetup.Info, error) {
	paths, hidden, sequence, err := d.candidates()
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
			continue // another program has it by now
		}
		loops = append(loops, info)
	}
	slices.SortStableFunc(loops, func(a, b loopsetup.Info) int { return cmp.Compare(a.Offset, b.Offset) })
	return loops, nil
}

// candidates returns the loop devices on a file with the data file's path, and recorded ones on a
// file whose mount this process does not see, with their recorded sequence numbers. If the mount is
// in another mount namespace, another device's data file may have that path here.
func (d device) candidates() (paths, hidden []string, sequence map[string]uint64, err error) {
	names := make([]string, len(d.noted))
	sequence = make(map[string]uint64)
	for i, n := range d.noted {
		names[i], sequence[n.Path] = n.Path, n.Sequence
	}
	if hidden, err = loopsetup.FindAmong(names, detachedData); err != nil {
		return nil, nil, nil, err
	}
	if !d.away {
		paths, err = loopsetup.Find(d.data())
		return paths, hidden, sequence, err
	}
	there, err := loopsetup.FindAmong(names, d.data())
	return nil, append(hidden, there...), sequence, err
}

// noteLoops adds the devices found on d to the recorded ones, so that attached still tells them
// from others later.
func (d *device) noteLoops(loops []loopsetup.Info) {
	for _, info := range loops {
		d.noted = slices.DeleteFunc(d.noted, func(n notedLoop) bool { return n.Path == info.Path })
		d.noted = append(d.noted, notedLoop{info.Path, info.Sequence})
	}
}

// noteStatus adds the loop devices in a status to the recorded ones. up's record is more exact
// where it has them too.
func (d *device) noteStatus(loops []string) {
	for _, path := range loops {
		if !slices.ContainsFunc(d.noted, func(n notedLoop) bool { return n.Path == path }) {
			d.noted = append(d.noted, notedLoop{Path: path})
		}
	}
}

// hideData hides the data file of the device on dir once loops are attached to it, so that no other
// process can open it or end its connection by a forced unmount. It records the devices' paths
// first, since afterwards they cannot be found by the path of their file. A data file without a
// mount of its own stays visible.
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

// writeNotes writes one path a line to DIR/control/loops, a file that only servers with such notes
// have.
func writeNotes(dir string, loops []string) error {
	path := filepath.Join(dir, notesFile)
	_, err := aside.Within(aside.AnswerTime, aside.Write, path, strings.Join(loops, "\n")+"\n")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("note the loop devices in %s: %w", path, err)
	}
	return nil
}

// errStillAttached means that a loop device stayed attached after it was detached.
var errStillAttached = errors.New("a loop device is still attached")

// detachTime bounds the wait for loop devices to detach: a program such as udev may have one open.
const detachTime = 10 * time.Second

// waitDetached waits until the data file has no loop device.
func (d device) waitDetached() error {
	for end := time.Now().Add(detachTime); ; time.Sleep(busyPause) {
		loops, err := d.attached()
		if err != nil || len(loops) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: %s is on %s, and a process has it open: fuser -v %[2]s", errStillAttached, strings.Join(loopPaths(loops), " "), d.data())
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
