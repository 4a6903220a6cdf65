// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/loopsetup"
)

// Attached returns the loop devices on the data file, by offset. A data file on a detached mount
// has no path, so only recorded devices are found there.
func (d Device) Attached() ([]loopsetup.Info, error) {
	if d.Elsewhere { // another device's data file may have that path here
		return sorted(uprecord.Attached(d.Noted, uprecord.DetachedData, d.Data()))
	}
	loops, err := uprecord.Attached(d.Noted, uprecord.DetachedData)
	if err != nil {
		return nil, err
	}
	paths, err := loopsetup.Find(d.Data())
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		info, err := loopsetup.Inspect(path)
		if errors.Is(err, loopsetup.ErrNotAttached) {
			continue // detached since it was found
		}
		if err != nil {
			return nil, err
		}
		loops = append(loops, info)
	}
	return sorted(loops, nil)
}

// sorted returns loops by offset.
func sorted(loops []loopsetup.Info, err error) ([]loopsetup.Info, error) {
	slices.SortStableFunc(loops, func(a, b loopsetup.Info) int { return cmp.Compare(a.Offset, b.Offset) })
	return loops, err
}

// NoteLoops adds the devices found on d to the recorded ones, so that Attached still tells them
// from others later.
func (d *Device) NoteLoops(loops []loopsetup.Info) {
	for _, info := range loops {
		noted := uprecord.Loop{Path: info.Path, Sequence: info.Sequence}
		d.Noted = slices.DeleteFunc(d.Noted, func(n uprecord.Loop) bool {
			if n.Path == info.Path && n.Sequence == info.Sequence {
				noted.Before = n.Before
			}
			return n.Path == info.Path
		})
		d.Noted = append(d.Noted, noted)
	}
}

// NoteNew is NoteLoops for a loop device that was attached just now.
func (d *Device) NoteNew(info loopsetup.Info) {
	d.NoteLoops([]loopsetup.Info{info})
	if before, err := host.Local.BlockTimes(info.Path); err == nil { // else its times are not divided
		d.Noted[len(d.Noted)-1].Before = before
	}
}

// noteStatus adds to the recorded loop devices those in a status that are on the data file. up's
// record is more exact where it has them too.
func (d *Device) noteStatus(ctx context.Context, loops []string) {
	for _, path := range loops {
		if !slices.ContainsFunc(d.Noted, func(n uprecord.Loop) bool { return n.Path == path }) && d.hasLoop(ctx, path) {
			d.Noted = append(d.Noted, uprecord.Loop{Path: path})
		}
	}
}

// hasLoop reports whether a loop device that the status of d names is on its data file: a status
// may name any. The keeper holds the connection of the file's file system, or the file was
// attached by the path of d's. A process without the right to open the loop device cannot harm it
// either, and believes the status.
func (d *Device) hasLoop(ctx context.Context, path string) bool {
	text, err := helper.Call(ctx, helper.Probe, path)
	var p helper.FileSystem
	if len(text) == 0 || json.Unmarshal(text, &p) != nil {
		if errors.Is(err, helper.ErrNoAnswer) {
			d.Unseen = fmt.Errorf("%w: the file of %s: %w", errUnseen, path, err)
		}
		return errors.Is(err, fs.ErrPermission)
	}
	name := d.Data()
	return p.Major == 0 && (host.Local.HoldsFUSE(d.Keeper, int(p.Minor)) || p.Name == name[:min(len(name), loopNameMost)])
}

// loopNameMost is how much of a path the kernel keeps for a loop device, in bytes (LO_NAME_SIZE).
const loopNameMost = 63

// errStillAttached means that a loop device stayed attached after it was detached.
var errStillAttached = errors.New("a loop device is still attached")

// detachTime bounds the wait for loop devices to detach: a program such as udev may have one open.
// detachPause is the time between two looks.
const (
	detachTime  = 10 * time.Second
	detachPause = 50 * time.Millisecond
)

// WaitDetached waits until the data file has no loop device.
func (d Device) WaitDetached() error {
	for end := time.Now().Add(detachTime); ; time.Sleep(detachPause) {
		loops, err := d.Attached()
		if err != nil || len(loops) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: %s is on %s, and a process has it open: fuser -v %[2]s", errStillAttached, strings.Join(LoopPaths(loops), " "), d.Data())
		}
	}
}

// LoopPaths returns the paths of loop devices, in their order.
func LoopPaths(loops []loopsetup.Info) []string {
	paths := make([]string, len(loops))
	for i, info := range loops {
		paths[i] = info.Path
	}
	return paths
}
