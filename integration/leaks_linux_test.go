// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
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
	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/loopsetup"
)

// leakPatience is how long something may take to go away after the last test:
// the kernel detaches loop devices and ends processes a moment after the call.
const leakPatience = 5 * time.Second

// machine is what a run must leave as it was.
type machine struct {
	descriptors map[string]string // of this process: number to what it leads to
	swaps       []string          // devices in /proc/swaps
}

func look() (machine, error) {
	var m machine
	var err error
	if m.descriptors, err = descriptors(); err != nil {
		return m, err
	}
	areas, err := loopsetup.Swaps()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	for _, a := range areas {
		m.swaps = append(m.swaps, a.Path)
	}
	return m, nil
}

// leaks says what is there now and was not before, once it has had time to go.
func (m machine) leaks() []string {
	for end := time.Now().Add(leakPatience); ; time.Sleep(50 * time.Millisecond) {
		found, err := m.leaked()
		if err != nil {
			return []string{err.Error()}
		}
		if len(found) == 0 || time.Now().After(end) {
			return found
		}
	}
}

func (m machine) leaked() ([]string, error) {
	now, err := look()
	if err != nil {
		return nil, err
	}
	found, err := leftovers(root)
	if err != nil {
		return nil, err
	}
	for number, target := range now.descriptors {
		if _, ok := m.descriptors[number]; !ok {
			found = append(found, fmt.Sprintf("descriptor %s of the tests: %s", number, target))
		}
	}
	for _, area := range now.swaps {
		if !slices.Contains(m.swaps, area) && strings.HasPrefix(area, "/dev/loop") && !othersServe() {
			found = append(found, "swap on "+area)
		}
	}
	for _, pid := range childrenOf(os.Getpid()) {
		if pid != janitorPID {
			found = append(found, fmt.Sprintf("child process %d: %s", pid, commandLine(pid)))
		}
	}
	return found, nil
}

// othersServe reports whether there are processes of devices that are not of this run: swap may be
// theirs. Processes of this run are found as such.
func othersServe() bool {
	return slices.ContainsFunc(processes(), func(pid int) bool {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		program := strings.TrimSuffix(exe, " (deleted)")
		name := filepath.Base(program)
		return err == nil && (name == "zramfs" || name == zramfsd.Name) && filepath.Dir(program) != filepath.Dir(programBelow(root))
	})
}

// descriptors lists the open files of this process, without those that the Go
// runtime makes for itself when it first needs them.
func descriptors() (map[string]string, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	all := make(map[string]string)
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		switch {
		case err != nil: // the one that listed the directory
		case target == "anon_inode:[eventpoll]", target == "anon_inode:[eventfd]":
		default:
			all[e.Name()] = target
		}
	}
	return all, nil
}

// leftovers describes what a run below dir has left: loop devices, mounts,
// processes of its program and zram devices of the kernel.
func leftovers(dir string) ([]string, error) {
	var found []string
	loops, err := loopsBelow(dir)
	if err != nil {
		return nil, err
	}
	for _, l := range loops {
		found = append(found, fmt.Sprintf("loop device %s on %s", l.Path, l.Backing))
	}
	mounts, err := mountsBelow(dir)
	if err != nil {
		return nil, err
	}
	for _, m := range mounts {
		found = append(found, fmt.Sprintf("mount on %s", m))
	}
	for _, pid := range processesOf(programBelow(dir)) {
		found = append(found, fmt.Sprintf("process %d: %s", pid, commandLine(pid)))
	}
	zrams, err := zramsBelow(dir)
	for _, number := range zrams {
		found = append(found, "zram device "+number)
	}
	return found, err
}

// undoTime is how long undo waits for a server that may have stopped answering,
// before it kills it.
const undoTime = 30 * time.Second

// undo removes what leftovers finds, in the order in which each step can work,
// and then dir.
func undo(dir string) error {
	var all []error
	hung := time.AfterFunc(undoTime, func() { killServers(dir) })
	defer hung.Stop()
	loops, err := loopsBelow(dir)
	all = append(all, err)
	for _, l := range loops {
		if err := loopsetup.SwapOff(l.Path); err != nil && !errors.Is(err, loopsetup.ErrNotSwap) {
			all = append(all, err)
			continue
		}
		all = append(all, unmountDevice(l.Path), loopsetup.Detach(l.Path))
	}
	mounts, err := mountsBelow(dir)
	all = append(all, err)
	for _, m := range slices.Backward(mounts) {
		all = append(all, unix.Unmount(m, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW))
	}
	killServers(dir)
	for end := time.Now().Add(leakPatience); len(processesOf(programBelow(dir))) > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		killServers(dir) // a keeper that went after its worker has started another
	}
	zrams, err := zramsBelow(dir)
	all = append(all, err)
	for _, number := range zrams {
		all = append(all, removeZram(dir, number))
	}
	return errors.Join(append(all, os.RemoveAll(dir))...)
}

// killServers kills the processes of a run's program. Every process that waits for one of them gets
// an error, even one that no signal can end.
func killServers(dir string) {
	for _, pid := range processesOf(programBelow(dir)) {
		_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
	}
}

// unmountDevice takes away the file systems on a device.
func unmountDevice(path string) error {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return m.Source != path, false })
	for _, m := range mounts {
		err = errors.Join(err, unix.Unmount(m.Mountpoint, unix.MNT_DETACH))
	}
	return err
}

func programBelow(dir string) string { return filepath.Join(dir, "bin", "zramfs") }

// mountsBelow returns the mount points below dir, in the order of mounting.
func mountsBelow(dir string) ([]string, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	var points []string
	for _, m := range mounts {
		points = append(points, m.Mountpoint)
	}
	return points, err
}

// loopsBelow returns the loop devices on files below dir.
func loopsBelow(dir string) ([]loopsetup.Info, error) {
	names, err := filepath.Glob("/sys/block/loop*/loop")
	if err != nil {
		return nil, err
	}
	var all []loopsetup.Info
	for _, name := range names {
		info, err := loopsetup.Inspect("/dev/" + filepath.Base(filepath.Dir(name)))
		if err == nil && strings.HasPrefix(info.Backing, dir+"/") { // else it has just been detached
			all = append(all, info)
		}
	}
	return all, nil
}

// processesOf returns the processes that execute the file at path.
func processesOf(path string) []int {
	var pids []int
	for _, pid := range processes() {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		exe = strings.TrimSuffix(exe, " (deleted)")
		if err == nil && (exe == path || exe == serverBeside(path)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// childrenOf returns the processes whose parent is pid, zombies included.
func childrenOf(pid int) []int {
	var pids []int
	for _, p := range processes() {
		if _, parent, err := stateOf(p); err == nil && parent == pid { // else it has ended
			pids = append(pids, p)
		}
	}
	return pids
}

// stateOf returns the state of a process as ps shows it, and its parent.
func stateOf(pid int) (state string, parent int, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, err
	}
	// The name before it, in parentheses, may hold anything (proc_pid_stat(5)).
	_, err = fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent)
	return state, parent, err
}

func processes() []int {
	names, _ := filepath.Glob("/proc/[0-9]*") // the pattern is good
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(filepath.Base(name)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func commandLine(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
}
