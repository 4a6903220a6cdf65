// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/loopsetup"
)

// Find returns the named devices in the order of names, or all for no names. It asks only
// their serving processes, all at once, for at most helper.AnswerTime, and as long again for what
// /proc/swaps does not show. A device that did not answer is in the result with Err set.
func Find(names ...string) ([]Device, error) {
	s, err := look(host.Local)
	if err != nil {
		return nil, err
	}
	picked, err := s.pick(names)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(picked, Device.lost) { // another device's status may name its loop device
		s.ask(s.devices)
		s.devices = slices.DeleteFunc(s.devices, s.claimed)
		return s.pick(names)
	}
	s.ask(picked)
	return picked, nil
}

// lost reports whether d is known only by a loop device on its data file.
func (d Device) lost() bool { return d.Elsewhere && d.Record == nil }

// claimed reports whether a lost d has been explained: its loop device is another device's, on no
// data file of ours, or no swap.
func (s *survey) claimed(d Device) bool {
	others := func(o Device) bool {
		return !o.lost() && len(d.Loops) > 0 && slices.Contains(LoopPaths(o.Loops), d.Loops[0].Path)
	}
	return d.lost() && (len(d.Swaps) == 0 && d.Unseen == nil || slices.ContainsFunc(s.devices, others))
}

// FindOne is Find for one name; of several devices it returns the best.
func FindOne(name string) (Device, error) {
	found, err := Find(name)
	if err != nil {
		return Device{}, err
	}
	return found[0], nil
}

// FindHere is FindOne for a command that works only if the device is mounted here.
func FindHere(name string) (Device, error) {
	d, err := FindOne(name)
	if err == nil {
		err = d.Here()
	}
	return d, err
}

// FindExtra returns the extra devices below the DIR of d, as Find does; see
// [fusefs.ExtraDir].
func FindExtra(d Device) ([]Device, error) {
	s, err := look(host.Local)
	if err != nil {
		return nil, err
	}
	below := filepath.Dir(fusefs.ExtraDir(d.Dir, 1)) + "/"
	s.devices = slices.DeleteFunc(s.devices, func(f Device) bool { return f.Elsewhere != d.Elsewhere || !strings.HasPrefix(f.Dir, below) })
	s.ask(s.devices)
	return s.devices, nil
}

// Here is an error for a device that is not mounted in this mount namespace.
func (d Device) Here() error {
	if !d.Elsewhere {
		return nil
	}
	namespace, _, _ := protect.NamespaceOf(d.Keeper)
	return fmt.Errorf("%s: %s; nsenter --mount=%s runs a command there", d.Word(), DiagnoseAway(d).What, namespace)
}

// Gone returns an error if the device that was mounted here has ended since it was found.
func (d Device) Gone() error {
	mounts, err := host.Local.Mounts()
	if err != nil || d.isAmong(mounts) {
		return nil
	}
	return fmt.Errorf("%w at %s: it has just ended", ErrNotRunning, d.Dir)
}

// ask reads the status of devices and adds what follows from it.
func (s *survey) ask(devices []Device) {
	ctx, stop := context.WithTimeout(context.Background(), helper.AnswerTime)
	defer stop()
	var wg sync.WaitGroup
	for i := range devices {
		wg.Go(func() {
			devices[i].ask(ctx)
			s.complete(&devices[i])
		})
	}
	wg.Wait()
}

// complete adds to a device what follows from its answer, or from the lack of one.
func (s *survey) complete(d *Device) {
	if errors.Is(d.Err, helper.ErrNoAnswer) {
		silent := findServers(d.number, d.Keeper, d.Dir)
		d.Err, d.Keeper = silence(silent, d.Title()), silent.Keeper.PID
	}
	if d.Status != nil {
		if err := s.use(d); err != nil {
			d.Err = errors.Join(d.Err, err)
		}
	}
	s.findHidden(d)
	d.SwapUse = ReadSwapUse(host.Local, *d)
}

// ask reads the status of d if it can be reached; else it finds out whether d is served.
func (d *Device) ask(ctx context.Context) {
	if d.Elsewhere && d.Keeper == 0 {
		d.probe(ctx)
	}
	switch {
	case d.Err != nil:
	case !d.Elsewhere:
		d.Status, d.Err = askStatus(ctx, d.Dir)
		if errors.Is(d.Err, ErrDead) {
			d.askLoop(ctx)
		}
	default:
		d.askAway(ctx)
	}
	if d.Status == nil {
		return
	}
	d.Answered = time.Now() // others may take until ctx ends
	if d.Keeper == 0 && d.keptBy(d.Status.PID) {
		d.Keeper = d.Status.PID
	}
	d.noteStatus(ctx, d.Status.Loops)
}

// keptBy reports whether the process that a status names keeps d: a status may name any process.
// The DIR is among the arguments of a keeper; where it has another path there, as in a container,
// the kernel tells root which processes hold the connection (Linux 6.17).
func (d *Device) keptBy(pid int) bool {
	return ServerAt(pid) != 0 && (serverDir(pid) == d.Dir || host.Local.HoldsFUSE(pid, d.number))
}

// ErrCutOff means that the mount of a device was ended by force, and that its data file is served.
var ErrCutOff = errors.New("its mount was ended by force, as umount -f does; what is stored is there, and the status cannot be read")

// askLoop finds out whether the data file of a device with a dead mount is served.
func (d *Device) askLoop(ctx context.Context) {
	if len(d.Loops) == 0 {
		return
	}
	if _, err := helper.Call(ctx, helper.Probe, d.Loops[0].Path); err != nil {
		return
	}
	d.Err = fmt.Errorf("%s: %w", d.Word(), ErrCutOff)
	if d.Keeper == 0 {
		d.Keeper = findServers(d.number, 0, d.Dir).Keeper.PID
	}
}

// ServerAt returns pid if that process runs this program: a PID of another PID namespace may be any
// process here.
func ServerAt(pid int) int {
	if p, ok := host.Local.Process(pid); ok && p.Name == status.ServerName {
		return pid
	}
	return 0
}

// ErrOutOfSight means that a device in use has no visible mount.
var ErrOutOfSight = errors.New("it is mounted in another mount namespace or was unmounted lazily, and its status cannot be read from here")

// probe asks the kernel whether the file of the first loop device is served, and by which process.
func (d *Device) probe(ctx context.Context) {
	if len(d.Loops) == 0 {
		return
	}
	text, err := helper.Call(ctx, helper.Probe, d.Loops[0].Path)
	var p helper.FileSystem
	if len(text) > 0 && json.Unmarshal(text, &p) == nil {
		if p.Major != 0 { // not a FUSE file system
			d.Loops, d.Swaps = nil, nil
			return
		}
		d.Keeper = findServers(int(p.Minor), 0, "").Keeper.PID
	}
	switch {
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.ENOTCONN), errors.Is(err, syscall.ECONNABORTED):
		d.Err = fmt.Errorf("%s: %w", d.Word(), ErrDead)
	case err != nil:
		d.Err = fmt.Errorf("%s: %w", d.Word(), err)
	case d.Keeper != 0 && d.Dir == "":
		d.Dir = serverDir(d.Keeper)
	}
}

// askAway reads the status of a device in the mount namespace of its keeper.
func (d *Device) askAway(ctx context.Context) {
	d.Err = fmt.Errorf("%s: %w", d.Word(), ErrOutOfSight)
	if d.Keeper == 0 {
		return
	}
	_, root, left := protect.NamespaceOf(d.Keeper)
	if !left && !d.seenBy(d.Keeper) {
		return
	}
	status, err := askStatus(ctx, filepath.Join(root, d.Dir))
	if left && (err != nil || status.KeeperPID != d.Keeper) { // that table of mounts cannot be read
		return
	}
	d.Status, d.Err = status, err
}

// seenBy reports whether the mount of d is where a process sees it.
func (d *Device) seenBy(pid int) bool {
	mounts, err := host.Local.MountsOf(pid)
	return err == nil && d.isAmong(mounts)
}

// isAmong reports whether the mount of d is one of these.
func (d Device) isAmong(mounts []*mountinfo.Info) bool {
	return slices.ContainsFunc(mounts, func(m *mountinfo.Info) bool {
		return m.Mountpoint == d.Dir && IsDevice(m) && (m.Minor == d.number || d.number == 0)
	})
}

// ReadStatus reads DIR/control/status in at most helper.AnswerTime.
func ReadStatus(dir string) (*status.Status, error) {
	ctx, stop := context.WithTimeout(context.Background(), helper.AnswerTime)
	defer stop()
	return askStatus(ctx, dir)
}

// askStatus reads DIR/control/status until ctx ends.
func askStatus(ctx context.Context, dir string) (*status.Status, error) {
	text, err := helper.Call(ctx, helper.Read, filepath.Join(dir, statusFile))
	switch {
	case errors.Is(err, syscall.ENOTCONN), errors.Is(err, syscall.ECONNABORTED):
		return nil, fmt.Errorf("%s: %w", dir, ErrDead)
	case err != nil:
		return nil, fmt.Errorf("read the status of %s: %w", dir, err)
	}
	status := new(status.Status)
	if err := json.Unmarshal(text, status); err != nil {
		return nil, fmt.Errorf("read the status of %s: %w", dir, err)
	}
	return status, nil
}

// The values of answer, in the JSON of list and status.
const (
	answerOK        = "ok"
	answerTimeout   = "timeout"
	answerDead      = "dead"
	answerElsewhere = "elsewhere"
	answerError     = "error"
)

// Answer is the outcome of asking for the status, in one word.
func (d Device) Answer() string {
	switch {
	case errors.Is(d.Err, ErrDead):
		return answerDead
	case errors.Is(d.Err, helper.ErrNoAnswer):
		return answerTimeout
	case d.Elsewhere:
		return answerElsewhere
	case d.Status == nil:
		return answerError
	}
	return answerOK
}

// IsOurs reports whether a loop device is on a device's data file, as far as the kernel knows
// without asking the server.
func IsOurs(path string) bool {
	info, err := loopsetup.Inspect(path)
	return err == nil && filepath.Base(info.Backing) == filepath.Base(DataFile)
}
