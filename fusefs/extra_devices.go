// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"math/bits"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zramfs/zramfs/fusefs/sysfstext"
)

// A DIR may have extra devices, made by a read of control/hot_add. Each is a device of its own,
// with processes and mounts of its own, on the directory DIR/devices/zramN. The trees of the first
// device have symbolic links to them:
//
//	DIR/block/zramN  ->  ../devices/zramN/block/zram0
//	DIR/dev/zramN    ->  ../devices/zramN/dev/zram0

// MaxExtra is the largest number that an extra device may have: each takes two processes and 23
// MiB of locked memory. Inode numbers depend on it.
const MaxExtra = 15

// ExtraDir returns the mount point of an extra device, below the DIR of the first.
func ExtraDir(dir string, number int) string {
	return dir + "/devices/" + deviceName(number)
}

// IsExtraDir reports whether dir is the mount point of an extra device, by its name.
func IsExtraDir(dir string) bool {
	name := filepath.Base(dir)
	return strings.HasSuffix(dir, "/devices/"+name) && numberOfName(name) != 0
}

// ExtraDevices is a set of numbers of devices, from 1 to MaxExtra.
type ExtraDevices uint64

// With returns the set and a number.
func (s ExtraDevices) With(number int) ExtraDevices { return s | 1<<number }

// Without returns the set without a number.
func (s ExtraDevices) Without(number int) ExtraDevices { return s &^ (1 << number) }

// Has reports whether a number is in the set.
func (s ExtraDevices) Has(number int) bool {
	return number > 0 && number <= MaxExtra && s>>number&1 != 0
}

// Free returns the smallest number that is not in the set, and whether a new device may have it.
func (s ExtraDevices) Free() (number int, ok bool) {
	n := bits.TrailingZeros64(^uint64(s | 1))
	return n, n <= MaxExtra
}

func deviceName(number int) string { return "zram" + strconv.Itoa(number) }

// numberOfName is the inverse of deviceName; 0 for names of no extra device.
func numberOfName(name string) int {
	digits, ok := strings.CutPrefix(name, "zram")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n > MaxExtra || deviceName(n) != name {
		return 0
	}
	return max(n, 0)
}

// The inode numbers of an extra device's nodes, each with the device's number added.
const (
	mountPoints uint64 = 1<<20 + iota*(MaxExtra+1) // the directory, always there, so that it can be mounted on
	blockLinks
	dataLinks
	extraEnd
)

// extraNode returns a node of an extra device, or nil.
func (f *fileSystem) extraNode(kind uint64, number int) *node {
	data := f.tree.get(dataNode).isData()
	n := &node{id: kind + uint64(number), name: deviceName(number), mode: directoryMode, parent: devicesNode}
	switch {
	case number == 0 || data != (kind == dataLinks):
		return nil
	case kind == mountPoints:
		return n
	case !f.extraDevices().Has(number):
		return nil
	}
	n.mode, n.parent, n.target = syscall.S_IFLNK|0o777, blockNode, "../devices/"+n.name+"/block/zram0"
	if kind == dataLinks {
		n.parent, n.target = rootNode, "../devices/"+n.name+"/dev/zram0"
	}
	return n
}

// node returns the node with this number, or nil.
func (f *fileSystem) node(id uint64) *node {
	id &= 1<<aliasShift - 1
	if id < mountPoints || id >= extraEnd {
		return f.tree.get(id)
	}
	const each = MaxExtra + 1
	at := id - mountPoints
	return f.extraNode(mountPoints+at/each*each, int(at%each))
}

// find returns the node of this name in a directory, or nil.
func (f *fileSystem) find(dir uint64, name string) *node {
	if n := f.tree.lookup(dir, name); n != nil {
		return n
	}
	for _, kind := range []uint64{mountPoints, blockLinks, dataLinks} {
		if n := f.extraNode(kind, numberOfName(name)); n != nil && n.parent == dir {
			return n
		}
	}
	return nil
}

// entries lists a directory.
func (f *fileSystem) entries(dir *node) []fuse.DirEntry {
	entries := f.tree.list(dir)
	for number := 1; number <= MaxExtra; number++ {
		for _, kind := range []uint64{mountPoints, blockLinks, dataLinks} {
			n := f.extraNode(kind, number)
			if n != nil && n.parent == dir.id && f.extraDevices().Has(number) {
				entries = append(entries, fuse.DirEntry{Name: n.name, Ino: n.id, Mode: n.mode})
			}
		}
	}
	return entries
}

// Readlink returns where a link to an extra device leads.
func (f *fileSystem) Readlink(_ <-chan struct{}, in *fuse.InHeader) ([]byte, fuse.Status) {
	n := f.node(in.NodeId)
	if n == nil || n.target == "" {
		return nil, fuse.EINVAL
	}
	return []byte(n.target), fuse.OK
}

// hotAttributes are the files of /sys/class/zram-control. There are none where there can be no
// extra devices.
func (a *attributes) hotAttributes() []attribute {
	if a.cfg.Add == nil || a.cfg.Remove == nil {
		return nil
	}
	return []attribute{
		{dir: controlNode, name: "hot_add", mode: 0o400, take: a.hotAdd, long: true, unlisted: true},
		{dir: controlNode, name: "hot_remove", mode: ordered, set: a.hotRemove, long: true},
	}
}

// hotAdd makes a device and shows its number.
func (a *attributes) hotAdd(request uint64) ([]byte, error) {
	number, err := a.cfg.Add(numberOf(request))
	return []byte(strconv.Itoa(number) + "\n"), err
}

// hotRemove takes the number of a device.
func (a *attributes) hotRemove(request uint64, text []byte) error {
	number, err := sysfstext.Signed(sysfstext.Text(text), 32)
	switch {
	case err != nil:
		return err
	case number < 0:
		return syscall.EINVAL
	case number == 0:
		return syscall.EBUSY // it is the device whose mount this is
	}
	return a.cfg.Remove(numberOf(request), int(number))
}
