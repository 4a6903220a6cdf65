// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/loopsetup"
)

// Where a device is found.
const (
	FSType     = "fuse.zramfs"    // in the mount table
	DataDir    = "dev"            // below DIR, the mount of the data file
	DataFile   = status.DataFile  // below DIR
	statusFile = "control/status" // below DIR
)

// ErrDead means that a loop device or a mount has lost its serving process.
var ErrDead = errors.New("no process serves it, and what was stored is lost")

// Device is a zramfs device and its users, at the time of the search.
type Device struct {
	Dir        string           // mount point, from the mount table or up's record; empty when neither has it
	Status     *status.Status   // nil when it could not be read
	Answered   time.Time        // when Status was read; zero where it is nil
	Err        error            // why Status is nil; wraps helper.ErrNoAnswer, ErrDead or an error of the file system
	Loops      []loopsetup.Info // loop devices on the data file, in the order of their places in it
	Swaps      []loopsetup.Swap // the swap areas on Loops, in that order
	Mountpoint string           // where a file system on one of Loops is mounted; empty when there is none
	Unseen     error            // why it is unknown whether Loops are all, and whether they are used as swap; nil where it is known

	Elsewhere bool             // no mount is seen here: it is in another mount namespace, or gone
	number    int              // of the attributes' file system (st_dev); 0 if unknown
	Keeper    int              // PID of the keeper; 0 if unknown
	Record    *uprecord.Record // up's record; nil without one or the right to read it
	Noted     []uprecord.Loop  // loop devices that may be on a data file without a path

	SwapUse SwapUse // set by Find and ReadSwapUse
	// Block is the requests of Loops together. Files that a loop device was attached to before are
	// in it too.
	Block host.BlockTimes
}

// Data returns the path of the data file. Opening it needs a time limit.
func (d Device) Data() string { return filepath.Join(d.Dir, DataFile) }

// loop returns the main loop device: the first one used as swap, else the first; nil for none.
func (d Device) loop() *loopsetup.Info {
	for i := range d.Loops {
		if d.SwapOn(d.Loops[i].Path) != nil {
			return &d.Loops[i]
		}
	}
	if len(d.Loops) > 0 {
		return &d.Loops[0]
	}
	return nil
}

// SwapOn returns the swap area on the loop device at path, or nil.
func (d Device) SwapOn(path string) *loopsetup.Swap {
	for i := range d.Swaps {
		if d.Swaps[i].Path == path {
			return &d.Swaps[i]
		}
	}
	return nil
}

// Off returns the swap areas in up's record that are off while others are on, by path.
func (d Device) Off() (off []string) {
	if d.Record == nil || len(d.Swaps) == 0 {
		return nil
	}
	for _, n := range d.Record.Loops {
		if d.SwapOn(n.Path) == nil {
			off = append(off, n.Path)
		}
	}
	return off
}

// Swap returns all swap areas of the device as one, with the name and priority of the first; nil
// for none.
func (d Device) Swap() *loopsetup.Swap {
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

// Name is the device's name in list: its loop device, the first of several, or the data file if it
// has none. One name stands for the device, as /dev/zram0 does in zramctl; /proc/swaps and every
// command know it.
func (d Device) Name() string {
	if loop := d.loop(); loop != nil {
		return loop.Path
	}
	return d.Data()
}

// Title is the device's name in messages: its DIR, if known.
func (d Device) Title() string {
	if d.Dir == "" {
		return d.Name()
	}
	return d.Dir
}

// A survey is what the kernel's tables and up's records say about devices. Making one asks no
// serving process.
type survey struct {
	mounts  []*mountinfo.Info
	swaps   []loopsetup.Swap
	devices []Device
}

// look makes a survey. Its devices are in mount order; those whose mount is not seen are last.
func look(m host.Root) (*survey, error) {
	s := &survey{}
	var err error
	if s.mounts, err = host.Local.Mounts(); err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	if s.swaps, err = readSwaps(); err != nil {
		return nil, err
	}
	s.devices = zramfsMounts(s.mounts)
	for _, rec := range uprecord.Read(m) {
		if rec.Err == nil {
			s.addRecord(&rec)
		}
	}
	for i := range s.devices {
		s.devices[i].Err = s.use(&s.devices[i])
	}
	s.addLost()
	return s, nil
}

// zramfsMounts returns the mounted devices, each file system once: a bind mount or a covered mount
// point shows the same one again.
func zramfsMounts(mounts []*mountinfo.Info) []Device {
	var devices []Device
	for _, m := range mounts {
		known := func(d Device) bool { return d.number == m.Minor || d.Dir == m.Mountpoint }
		if IsDevice(m) && m.Root == "/" && !slices.ContainsFunc(devices, known) {
			devices = append(devices, Device{Dir: m.Mountpoint, number: m.Minor})
		}
	}
	return devices
}

// IsDevice reports whether a mount is one of a device's attributes. Any user can mount a file
// system of our type, in a directory of that user: it counts for that user alone, and root's for
// all users.
func IsDevice(m *mountinfo.Info) bool {
	if m.FSType != FSType {
		return false
	}
	for option := range strings.SplitSeq(m.VFSOptions, ",") { // of the file system, as the kernel writes them
		if owner, ok := strings.CutPrefix(option, "user_id="); ok {
			return owner == "0" || owner == strconv.Itoa(os.Geteuid())
		}
	}
	return false
}

// addRecord adds up's record to its device, or adds a device whose mount is not seen. It skips the
// record of a device that has ended.
func (s *survey) addRecord(rec *uprecord.Record) {
	for i := range s.devices {
		d := &s.devices[i]
		if d.Dir == rec.Dir && d.Record == nil && (rec.Mount == d.number || rec.Mount == 0) {
			d.Record, d.Noted, d.Keeper = rec, slices.Clone(rec.Loops), rec.KeeperPID()
			return
		}
	}
	d := Device{Dir: rec.Dir, Elsewhere: true, number: rec.Mount, Keeper: rec.KeeperPID(), Record: rec, Noted: slices.Clone(rec.Loops)}
	loops, err := d.Attached()
	if d.Keeper != 0 || err != nil || len(loops) > 0 {
		s.devices = append(s.devices, d)
	}
}

// addLost adds a device for each swap area, or what may be a hidden one, on a data file without a
// device so far.
func (s *survey) addLost() {
	var paths []string
	for _, area := range s.swaps {
		paths = append(paths, area.Path)
	}
	if hidden, _ := loopsetup.Hidden(s.swaps); hidden > 0 {
		found, _ := loopsetup.Find(uprecord.DetachedData) // without /sys nothing is known of loop devices
		paths = append(paths, found...)
	}
	for _, path := range paths {
		info, err := loopsetup.Inspect(path)
		known := func(d Device) bool { return slices.Contains(LoopPaths(d.Loops), path) }
		if err != nil || info.Backing != uprecord.DetachedData || slices.ContainsFunc(s.devices, known) {
			continue
		}
		d := Device{Elsewhere: true, Noted: []uprecord.Loop{{Path: info.Path, Sequence: info.Sequence}}}
		if s.use(&d) == nil {
			s.devices = append(s.devices, d)
		}
	}
}

// use finds the loop devices on d and their users.
func (s *survey) use(d *Device) error {
	loops, err := d.Attached()
	if errors.Is(err, fs.ErrNotExist) {
		d.Unseen = fmt.Errorf("%w: /sys is not mounted", errUnseen)
		return nil
	}
	if err != nil {
		return err
	}
	d.NoteLoops(loops)
	d.Loops, d.Swaps, d.Mountpoint, d.Block = loops, nil, "", host.BlockTimes{}
	for _, loop := range loops {
		if times, err := host.Local.BlockTimes(loop.Path); err == nil { // it may be detached by now
			d.Block = d.Block.Plus(times)
		}
		d.attachUse(loop.Path, s.mounts, s.swaps)
	}
	return nil
}

// attachUse records the users of the loop device at path.
func (d *Device) attachUse(path string, mounts []*mountinfo.Info, swaps []loopsetup.Swap) {
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

// AreaNames lists swap areas in a line: only the first and the last of many.
func AreaNames(paths []string) string {
	if n := len(paths); n > 2 {
		return fmt.Sprintf("%s to %s (%d areas)", paths[0], paths[n-1], n)
	}
	return strings.Join(paths, " and ")
}

// UsedIn returns the bytes that were used in the areas at the time of the search.
func UsedIn(areas []loopsetup.Swap) uint64 {
	var used uint64
	for _, a := range areas {
		used += a.Used
	}
	return used
}
