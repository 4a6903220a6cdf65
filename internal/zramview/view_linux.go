// SPDX-License-Identifier: Apache-2.0

package zramview

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zramfs/zramfs/internal/helper"
)

// The parts of the served file system, each for a directory of the kernel's.
const (
	partBlock   = "block"
	partNumbers = "numbers"
	partControl = "control"
	partSwaps   = "swaps"
	partModules = "modules"
)

const (
	hotAdd    = "hot_add"
	hotRemove = "hot_remove"
)

// serve answers the requests that come from the open /dev/fuse of a mounted view, until the kernel
// ends the connection with the namespace, or with this process.
func (t *table) serve(requests *os.File) error {
	root := &directory{list: func() ([]entry, error) {
		return []entry{
			{name: partBlock, mode: fs.ModeDir | 0o755, dir: t.blockDevices},
			{name: partNumbers, mode: fs.ModeDir | 0o755, dir: t.numbers},
			{name: partControl, mode: fs.ModeDir | 0o755, dir: t.controls},
			{name: partSwaps, mode: 0o444, read: t.swaps},
			{name: partModules, mode: 0o444, read: modules},
		}, nil
	}}
	// go-fuse closes the descriptor it is given.
	own, err := unix.FcntlInt(requests.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := requests.Close(); err != nil {
		return errors.Join(err, unix.Close(own))
	}
	s, err := fuse.NewServer(gofs.NewNodeFS(root, &gofs.Options{}), fmt.Sprintf("/dev/fd/%d", own), &fuse.MountOptions{
		AllowOther: true, DisableReadDirPlus: true, MaxWrite: 4096, Logger: log.New(io.Discard, "", 0),
	})
	if err != nil {
		return fmt.Errorf("serve the view of the device: %w", err)
	}
	go s.Serve()
	return nil
}

// An entry is a file in the view. It has one of dir, target and read or write.
type entry struct {
	name     string
	mode     fs.FileMode
	dir      func() ([]entry, error)
	target   string
	read     func() ([]byte, error)
	write    func([]byte) error
	unlisted bool // it is found by its name alone, as in fusefs
}

// blockDevices lists /sys/block: the machine's devices without zrams, and ours.
func (t *table) blockDevices() ([]entry, error) {
	entries, err := links(sysBlock)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.fresh) > freshTime {
		if err := t.refresh(nil); err != nil {
			return nil, err
		}
	}
	for _, z := range t.zrams {
		entries = append(entries, entry{name: z.name, mode: fs.ModeDir | 0o755, dir: func() ([]entry, error) { return t.attributes(z) }})
	}
	return entries, nil
}

// numbers lists /sys/dev/block, where the numbers of our loop devices lead to ours.
func (t *table) numbers() ([]entry, error) {
	entries, err := links(sysDev)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ours := map[string]string{}
	for _, z := range t.zrams {
		ours[fmt.Sprintf("%d:%d", unix.Major(z.number), unix.Minor(z.number))] = "../../block/" + z.name
	}
	for i := range entries {
		if target, ok := ours[entries[i].name]; ok {
			entries[i].target = target
		}
	}
	return entries, nil
}

// links returns the symbolic links in a directory of the kernel's, without those to zram devices.
func links(dir string) ([]entry, error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, f := range found {
		target, err := os.Readlink(filepath.Join(dir, f.Name()))
		if err == nil && !isZram(filepath.Base(target)) { // a device may be gone by now
			entries = append(entries, entry{name: f.Name(), mode: fs.ModeSymlink | 0o777, target: target})
		}
	}
	return entries, nil
}

// attributes lists a device's directory: its own files, and links to what only its loop device has.
func (t *table) attributes(z *zram) ([]entry, error) {
	t.mu.Lock()
	loop := filepath.Base(z.loop)
	t.mu.Unlock()
	entries := []entry{{name: "uevent", mode: 0o444, read: func() ([]byte, error) { return z.uevent(loop) }}}
	known := map[string]bool{"uevent": true, "loop": true}
	for _, a := range z.attributes {
		path := filepath.Join(t.dir, "block", z.name, a.Name)
		known[a.Name] = true
		entries = append(entries, entry{
			name: a.Name, mode: a.Mode,
			read:  func() ([]byte, error) { return helper.CallTimeout(helper.AnswerTime, helper.Read, path) },
			write: func(text []byte) error { return t.change(z, a.Name, text) },
		})
	}
	real := filepath.Join("/sys/devices/virtual/block", loop)
	found, err := os.ReadDir(real)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if !known[f.Name()] {
			entries = append(entries, entry{name: f.Name(), mode: fs.ModeSymlink | 0o777, target: filepath.Join(real, f.Name())})
		}
	}
	return entries, nil
}

// uevent is the loop device's with our name.
func (z *zram) uevent(loop string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(sysBlock, loop, "uevent"))
	return []byte(strings.Replace(string(text), "DEVNAME="+loop, "DEVNAME="+z.name, 1)), err
}
