// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/moby/sys/mountinfo"

	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/loopsetup"
)

const (
	fsType     = "fuse.zramfs"    // in the mount table
	dataDir    = "dev"            // below DIR, the mount of the data file
	dataFile   = "dev/zram0"      // below DIR
	statusFile = "control/status" // below DIR
)

// errDead means that a loop device or a mount has lost its serving process.
var errDead = errors.New("no process serves it, and what was stored is lost")

// device is a zramfs device and its users, at the time of the search.
type device struct {
	Dir        string           // mount point, from the mount table or up's record; empty when neither has it
	Status     *daemon.Status   // nil when it could not be read
	Err        error            // why Status is nil; wraps aside.ErrNoAnswer, errDead or an error of the file system
	Loops      []loopsetup.Info // loop devices on the data file, in the order of their places in it
	Swaps      []loopsetup.Swap // the swap areas on Loops, in that order
	Mountpoint string           // where a file system on one of Loops is mounted; empty when there is none

	away   bool        // no mount is seen here: it is in another mount namespace, or gone
	number int         // of the attributes' file system (st_dev); 0 if unknown
	keeper int         // PID of the keeper; 0 if unknown
	rec    *record     // up's record; nil without one or the right to read it
	noted  []notedLoop // loop devices that may be on a data file without a path

	swapUse swapUse
}

// data returns the path of the data file. Opening it needs a time limit.
func (d device) data() string { return filepath.Join(d.Dir, dataFile) }

// loop returns the main loop device: the first one used as swap, else the first; nil for none.
func (d device) loop() *loopsetup.Info {
	for i := range d.Loops {
		if d.swapOn(d.Loops[i].Path) != nil {
			return &d.Loops[i]
		}
	}
	if len(d.Loops) > 0 {
		return &d.Loops[0]
	}
	return nil
}

// swapOn returns the swap area on the loop device at path, or nil.
func (d device) swapOn(path string) *loopsetup.Swap {
	for i := range d.Swaps {
		if d.Swaps[i].Path == path {
			return &d.Swaps[i]
		}
	}
	return nil
}

// swap returns all swap areas of the device as one, with the name and priority of the first; nil
// for none.
func (d device) swap() *loopsetup.Swap {
	if len(d.Swaps) == 0 {
		return nil
	}
	all := d.Swaps[0]
	for _, s := range d.Swaps[1:] {
		all.Size += s.Size
		all.Used += s.Used
	}
	return &all
}

// name is the device's name in list: its loop device, the first of several, or the data file if it
// has none. One name stands for the device, as /dev/zram0 does in zramctl; /proc/swaps and every
// command know it.
func (d device) name() string {
	if loop := d.loop(); loop != nil {
		return loop.Path
	}
	return d.data()
}

// title is the device's name in messages: its DIR, if known.
func (d device) title() string {
	if d.Dir == "" {
		return d.name()
	}
	return d.Dir
}

// A survey is what the kernel's tables and up's records say about devices. Making one asks no
// serving process.
type survey struct {
	mounts  []*mountinfo.Info
	swaps   []loopsetup.Swap
	devices []device
}

// look makes a survey. Its devices are in mount order; those whose mount is not seen are last.
func look(m host.Root) (*survey, error) {
	s := &survey{}
	var err error
	if s.mounts, err = host.Local.Mounts(); err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	s.swaps, err = loopsetup.Swaps()
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without swap has no such table
		return nil, err
	}
	s.devices = zramfsMounts(s.mounts)
	for _, rec := range readRecords(m) {
		if rec.err == nil {
			s.addRecord(&rec)
		}
	}
	for i := range s.devices {
		if err := s.use(&s.devices[i]); err != nil {
			return nil, err
		}
	}
	return s, s.addLost()
}

// zramfsMounts returns the mounted devices, each file system once: a bind mount or a covered mount
// point shows the same one again.
func zramfsMounts(mounts []*mountinfo.Info) []device {
	var devices []device
	for _, m := range mounts {
		known := func(d device) bool { return d.number == m.Minor || d.Dir == m.Mountpoint }
		if m.FSType == fsType && m.Root == "/" && !slices.ContainsFunc(devices, known) {
			devices = append(devices, device{Dir: m.Mountpoint, number: m.Minor})
		}
	}
	return devices
}

// addRecord adds up's record to its device, or adds a device whose mount is not seen. It skips the
// record of a device that has ended.
func (s *survey) addRecord(rec *record) {
	for i := range s.devices {
		d := &s.devices[i]
		if d.Dir == rec.Dir && d.rec == nil && (rec.Mount == d.number || rec.Mount == 0) {
			d.rec, d.noted, d.keeper = rec, slices.Clone(rec.Loops), rec.keeper()
			return
		}
	}
	d := device{Dir: rec.Dir, away: true, number: rec.Mount, keeper: rec.keeper(), rec: rec, noted: slices.Clone(rec.Loops)}
	loops, err := d.attached()
	if d.keeper != 0 || err != nil || len(loops) > 0 {
		s.devices = append(s.devices, d)
	}
}

// addLost adds a device for each swap area on a data file without a device so far.
func (s *survey) addLost() error {
	for _, area := range s.swaps {
		info, err := loopsetup.Inspect(area.Path)
		if errors.Is(err, loopsetup.ErrNotLoop) || errors.Is(err, loopsetup.ErrNotAttached) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Backing != detachedData || slices.ContainsFunc(s.devices, func(d device) bool { return d.swapOn(area.Path) != nil }) {
			continue
		}
		d := device{away: true, noted: []notedLoop{{info.Path, info.Sequence}}}
		if err := s.use(&d); err != nil {
			return err
		}
		s.devices = append(s.devices, d)
	}
	return nil
}

// use finds the loop devices on d and their users.
func (s *survey) use(d *device) error {
	loops, err := d.attached()
	if err != nil {
		return err
	}
	d.noteLoops(loops)
	d.Loops, d.Swaps, d.Mountpoint = loops, nil, ""
	for _, loop := range loops {
		d.attachUse(loop.Path, s.mounts, s.swaps)
	}
	return nil
}

// attachUse records the users of the loop device at path.
func (d *device) attachUse(path string, mounts []*mountinfo.Info, swaps []loopsetup.Swap) {
	for i := range swaps {
		if swaps[i].Path == path {
			d.Swaps = append(d.Swaps, swaps[i])
		}
	}
	for _, m := range mounts {
		if m.Source == path && d.Mountpoint == "" {
			d.Mountpoint = m.Mountpoint
		}
	}
}
