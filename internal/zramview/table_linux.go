// SPDX-License-Identifier: Apache-2.0

package zramview

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/loopsetup"
)

// changeTime bounds a change to a device: a reset frees all that it stores.
const changeTime = 30 * time.Second

// A table holds the zram devices that a namespace shows.
type table struct {
	dir string // where the device is mounted; immutable

	mu      sync.Mutex
	zrams   []*zram
	control bool      // the device has hot_add and hot_remove; immutable after newTable
	dev     *os.File  // the namespace's /dev; nil until that is laid out
	fresh   time.Time // of the last refresh
}

// freshTime is how long the table may not know of devices that other programs have made.
const freshTime = time.Second

// A zram is one device. Its fields belong to the table's lock.
type zram struct {
	name       string            // zram0
	data       string            // the path of its data file
	attributes []helper.Entry    // the device's files
	loop       string            // the path of its loop device
	number     uint64            // st_rdev of that
	held       *loopsetup.Device // that loop device if it was attached here, else nil
	shared     *os.File          // that loop device if it was there and might go away, else nil
}

// newTable attaches a loop device to each data file below the DIR of d that has none.
func newTable(d swapdev.Device) (*table, error) {
	if d.Err != nil {
		return nil, d.Err
	}
	t := &table{dir: d.Dir}
	control, err := t.list("control")
	if err == nil {
		t.control = slices.ContainsFunc(control, func(e helper.Entry) bool { return e.Name == hotRemove })
		err = t.refresh(&d)
	}
	if err != nil {
		return nil, errors.Join(err, t.close(io.Discard))
	}
	if len(t.zrams) == 0 {
		return nil, fmt.Errorf("%s has no directory block/zram0", d.Dir)
	}
	return t, nil
}

// list returns the entries of a directory below DIR.
func (t *table) list(dir string) ([]helper.Entry, error) {
	text, err := helper.CallTimeout(helper.AnswerTime, helper.List, filepath.Join(t.dir, dir))
	if err != nil {
		return nil, err
	}
	var entries []helper.Entry
	return entries, json.Unmarshal(text, &entries)
}

// refresh adds the devices below DIR/block that the table lacks and removes those that are gone.
// found is the survey of DIR's loop devices at the start, and nil later. The caller holds the lock,
// or has the table to itself.
func (t *table) refresh(found *swapdev.Device) error {
	entries, err := t.list("block")
	if err != nil {
		return err
	}
	t.fresh = time.Now()
	there := func(z *zram) bool {
		return slices.ContainsFunc(entries, func(e helper.Entry) bool { return e.Name == z.name })
	}
	for _, z := range t.zrams {
		if !there(z) {
			err = errors.Join(err, t.forget(z))
		}
	}
	t.zrams = slices.DeleteFunc(t.zrams, func(z *zram) bool { return !there(z) })
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !isZram(e.Name) || t.find(e.Name) != nil {
			continue
		}
		z := &zram{name: e.Name, data: t.dataOf(e)}
		if z.attributes, err = t.list("block/" + e.Name); err != nil {
			return err
		}
		if err := t.attach(z, found); err != nil {
			return err
		}
		t.zrams = append(t.zrams, z)
	}
	return nil
}

// find returns the device of that name, or nil.
func (t *table) find(name string) *zram {
	for _, z := range t.zrams {
		if z.name == name {
			return z
		}
	}
	return nil
}

// dataOf returns the path of the data file of a device in DIR/block: its real path, as the kernel
// knows it.
func (t *table) dataOf(e helper.Entry) string {
	if e.Mode.Type() == fs.ModeSymlink { // an extra device; see fusefs/extra_devices.go
		return filepath.Join(t.dir, "devices", e.Name, swapdev.DataFile)
	}
	return filepath.Join(t.dir, swapdev.DataDir, e.Name)
}

// attach gives z the loop device that stands for it, with a node.
func (t *table) attach(z *zram, found *swapdev.Device) error {
	z.loop = ""
	if found != nil && z.data == found.Data() && len(found.Loops) > 0 {
		z.loop = found.Name()
	} else if there, err := loopsetup.Find(z.data); err != nil {
		return err
	} else if len(there) > 0 {
		z.loop = there[0]
	}
	stays, err := z.share()
	if err != nil {
		return err
	}
	if !stays {
		if z.held, err = loopsetup.Attach(z.data, &loopsetup.Config{DiscardMax: discardMax}); err != nil {
			return err
		}
		z.loop = z.held.Path()
	}
	if z.number, err = numberOf(z.loop); err != nil {
		return errors.Join(err, z.release())
	}
	return t.placeNode(z)
}

// discardMax is what up gives a loop device, in bytes; see package setup.
const discardMax = 4 << 20

// numberOf returns st_rdev of a loop device.
func numberOf(loop string) (uint64, error) {
	text, err := os.ReadFile(filepath.Join(sysBlock, filepath.Base(loop), "dev"))
	if err != nil {
		return 0, err
	}
	var major, minor uint32
	if _, err := fmt.Sscanf(string(text), "%d:%d", &major, &minor); err != nil {
		return 0, fmt.Errorf("the number of %s: %w", loop, err)
	}
	return unix.Mkdev(major, minor), nil
}

// placeNodes makes the nodes of all devices in the namespace's /dev, which the table then has.
func (t *table) placeNodes(dev *os.File) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dev = dev
	for _, z := range t.zrams {
		if err := t.placeNode(z); err != nil {
			return err
		}
	}
	return nil
}

// placeNode makes the node of z once there is a /dev for it.
func (t *table) placeNode(z *zram) error {
	if t.dev == nil {
		return nil
	}
	dev := int(t.dev.Fd())
	if err := unix.Unlinkat(dev, z.name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("replace /dev/%s: %w", z.name, err)
	}
	err := unix.Mknodat(dev, z.name, unix.S_IFBLK|0o600, int(z.number)) // root's alone: swap holds secrets
	if err != nil {
		return fmt.Errorf("make /dev/%s: %w", z.name, err)
	}
	return nil
}

// forget removes the node of a device that is gone and lets go of its loop device.
func (t *table) forget(z *zram) error {
	var err error
	if t.dev != nil {
		err = unix.Unlinkat(int(t.dev.Fd()), z.name, 0)
	}
	return errors.Join(err, z.release())
}

// share reports whether z has a loop device, and opens that, so that it stays: the next file with
// its number would be zram0 here.
func (z *zram) share() (stays bool, err error) {
	before, err := loopsetup.Inspect(z.loop)
	if err != nil {
		return false, ignoreGone(err)
	}
	z.shared, err = os.Open(z.loop)
	if errors.Is(err, fs.ErrNotExist) { // in a container without the node
		z.shared = nil
		return true, nil
	}
	if err != nil {
		z.shared = nil
		return false, ignoreGone(err)
	}
	now, err := loopsetup.Inspect(z.loop)
	if err == nil && now.Sequence == before.Sequence {
		return true, nil
	}
	return false, errors.Join(ignoreGone(err), z.release())
}

// ignoreGone drops the error that a loop device has no file, or is none.
func ignoreGone(err error) error {
	if errors.Is(err, loopsetup.ErrNotAttached) || errors.Is(err, loopsetup.ErrNotLoop) || errors.Is(err, unix.ENXIO) {
		return nil
	}
	return err
}

// release closes the loop device of z if it is open here.
func (z *zram) release() (err error) {
	if z.held != nil {
		err = z.held.Close()
	}
	if z.shared != nil {
		err = errors.Join(err, z.shared.Close())
	}
	z.held, z.shared = nil, nil
	return err
}

// close ends the table: swap stays on under the loop device's own name, and loop devices without
// another user are detached. It writes what stays to warn.
func (t *table) close(warn io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []error
	for _, z := range t.zrams {
		all = append(all, z.keepSwap(warn), z.release())
	}
	t.zrams = nil
	if t.dev != nil {
		all = append(all, t.dev.Close())
		t.dev = nil
	}
	return errors.Join(all...)
}

// mostMoved is how much of a swap area in use is brought back to turn it on again, in bytes.
const mostMoved = 64 << 20

// keepSwap turns a swap area that the command has turned on as /dev/zram0 off and on again by the
// name that its node has outside: /proc/swaps would keep a path of the namespace, which swapoff -a
// and zramfs down would not find.
func (z *zram) keepSwap(warn io.Writer) error {
	areas, err := loopsetup.Swaps()
	if errors.Is(err, fs.ErrNotExist) { // a kernel without swap
		return nil
	}
	if err != nil {
		return err
	}
	area := z.swappedAs(areas)
	if area == nil {
		return nil
	}
	if area.Used > mostMoved {
		_, err := fmt.Fprintf(warn, "zramfs: exec: swap stays on, and /proc/swaps has it by a name of the namespace: swapoff %s\n", z.loop)
		return err
	}
	err = loopsetup.SwapOff(z.loop)
	if errors.Is(err, loopsetup.ErrNotSwap) { // the kernel's own zram of that name
		return nil
	}
	if err != nil {
		return err
	}
	if err := loopsetup.SwapOn(z.loop, max(area.Priority, -1), loopsetup.DiscardPages); err != nil {
		return err
	}
	_, err = fmt.Fprintf(warn, "zramfs: exec: swap stays on: %s\n", z.loop)
	return err
}

// swappedAs returns the swap area by the name of z, or nil. Where the loop device is swap by its
// own name, that area is the kernel's own zram.
func (z *zram) swappedAs(areas []loopsetup.Swap) *loopsetup.Swap {
	if slices.ContainsFunc(areas, func(a loopsetup.Swap) bool { return a.Path == z.loop }) {
		return nil
	}
	i := slices.IndexFunc(areas, func(a loopsetup.Swap) bool { return filepath.Base(a.Path) == z.name })
	if i < 0 {
		return nil
	}
	return &areas[i]
}

// trimmed is a write to an attribute as the kernel reads it.
func trimmed(text []byte) string { return strings.TrimSpace(string(text)) }
