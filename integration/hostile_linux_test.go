// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// TestHostileUser has another user try all that could read, write, stop or slow a device, and the
// same as root of a user namespace of its own, as in a container that sees the device's directory.
// Each attempt is refused, and the device goes on.
func TestHostileUser(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	dir := mount(t, "--size", "16M")
	loop := attachments["loopsetup"](t, dir)
	accessPage(t, dir, "write")
	before := statusOf(t, dir)
	args := []string{dir, loop, strconv.Itoa(before.KeeperPID), strconv.Itoa(before.WorkerPID)}
	for name, attr := range map[string]*syscall.SysProcAttr{
		"another user": {Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}},
		"root of a container": {
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
			UidMappings: []syscall.SysProcIDMap{{HostID: unprivileged, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: unprivileged, Size: 1}},
			Credential:  &syscall.Credential{}, // root there
		},
	} {
		cmd := clientCommand(t.Context(), hostile, args...)
		cmd.SysProcAttr = attr
		if r := runCommand(t, commandTimeout, cmd); r.Code != 0 {
			t.Errorf("%s: %s%s", name, r.Stdout, r.Stderr)
		}
	}
	accessPage(t, dir, "read")
	if after := statusOf(t, dir); after.KeeperPID != before.KeeperPID || after.WorkerPID != before.WorkerPID || after.Restarts != 0 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// hostile fails if anything that it tries works.
var hostile = register("hostile", func(args []string) error {
	dir, loop := args[0], args[1]
	var all []error
	for _, text := range args[2:] {
		pid, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		if err := refusedWith("look for a process", unix.Kill(pid, 0), unix.EPERM); err != nil {
			return err // the test has made no stranger: nothing may be tried
		}
		all = append(all, attemptsOnProcess(pid)...)
	}
	return errors.Join(append(all, append(attemptsOnFiles(dir, loop), attemptFlood(dir))...)...)
})

// refusedWith is an attempt that has to fail with one of these.
func refusedWith(what string, err error, want ...error) error {
	for _, w := range want {
		if errors.Is(err, w) {
			return nil
		}
	}
	return fmt.Errorf("%s: %v", what, err)
}

// attemptsOnProcess are those on a serving process.
func attemptsOnProcess(pid int) (all []error) {
	try := func(what string, err error) {
		if err := refusedWith(fmt.Sprintf("%s of process %d", what, pid), err, unix.EPERM, unix.EACCES); err != nil {
			all = append(all, err)
		}
	}
	for _, s := range []unix.Signal{0, unix.SIGSTOP, unix.SIGTERM, unix.SIGKILL} {
		try(fmt.Sprint("signal ", int(s)), unix.Kill(pid, s))
	}
	try("attach", unix.PtraceSeize(pid))
	proc := fmt.Sprintf("/proc/%d", pid)
	for _, name := range []string{"mem", "maps", "environ", "oom_score_adj", "clear_refs", "coredump_filter"} {
		try("open "+name, openAny(filepath.Join(proc, name)))
	}
	try("set the timer slack", os.WriteFile(filepath.Join(proc, "timerslack_ns"), []byte("1000000000"), 0))
	for _, name := range []string{"fd", "map_files"} {
		_, err := os.ReadDir(filepath.Join(proc, name))
		try("list "+name, err)
	}
	local := make([]byte, 8)
	_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &local[0], Len: 8}}, []unix.RemoteIovec{{Base: 4096, Len: 8}}, 0)
	try("read memory", err)
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil { // any user may have one
		for n := range 16 {
			_, err := unix.PidfdGetfd(fd, n, 0)
			try(fmt.Sprint("take descriptor ", n), err)
		}
		_ = unix.Close(fd)
	}
	try("set limits", unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{Cur: 1, Max: 1}, nil))
	try("set the nice value", unix.Setpriority(unix.PRIO_PROCESS, pid, 19))
	try("set the processors", unix.SchedSetaffinity(pid, &unix.CPUSet{1}))
	return all
}

// openAny opens a file for writing, or for reading where that is not possible.
func openAny(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		return errors.Join(err, f.Close())
	}
	return err
}

// attemptsOnFiles are those on the files of a device.
func attemptsOnFiles(dir, loop string) (all []error) {
	try := func(what string, err error) {
		if err := refusedWith(what, err, unix.EPERM, unix.EACCES, unix.EROFS, unix.EINVAL); err != nil {
			all = append(all, err)
		}
	}
	for _, path := range []string{data(dir), loop} {
		for _, flags := range []int{unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR | unix.O_DIRECT} {
			fd, err := unix.Open(path, flags, 0)
			if err == nil {
				_ = unix.Close(fd)
			}
			try(fmt.Sprintf("open %s with %#x", path, flags), err)
		}
		try("truncate "+path, unix.Truncate(path, 0))
		try("chmod "+path, unix.Chmod(path, 0o666))
		try("chown "+path, unix.Chown(path, os.Getuid(), os.Getgid()))
	}
	for _, name := range []string{"reset", "disksize", "mem_limit", "comp_algorithm", "compact", "writeback", "idle", "../../control/loops", "../../control/hot_add"} {
		path := filepath.Join(dir, "block", "zram0", name)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("1")
			_ = f.Close()
		}
		try("write "+name, err)
	}
	for _, flags := range []int{0, unix.MNT_DETACH, unix.MNT_FORCE} {
		try("unmount", unix.Unmount(dir, flags))
		try("unmount the data file", unix.Unmount(filepath.Dir(data(dir)), flags))
	}
	for _, base := range []string{"/run/zramfs", "/run/zramfs/control"} {
		try("make a file in "+base, os.WriteFile(filepath.Join(base, "intruder"), nil, 0o600))
		try("make a directory in "+base, os.Mkdir(filepath.Join(base, "intruder"), 0o700))
	}
	_, err := os.ReadDir("/run/zramfs/control")
	try("list the sockets", err)
	_, err = net.Dial("unix", "/run/zramfs/control/any")
	try("connect to a socket", err)
	_, err = os.ReadDir("/sys/fs/fuse/connections")
	if err == nil {
		aborts, _ := filepath.Glob("/sys/fs/fuse/connections/*/abort")
		for _, abort := range aborts {
			try("abort", openAny(abort))
		}
	}
	return all
}

// attemptFlood opens the status again and again, keeps what it gets, watches every file, and reads
// on: it gets a bounded number of files.
func attemptFlood(dir string) error {
	const tries, bound = 300, 64
	var held []*os.File
	defer func() {
		for _, f := range held {
			_ = f.Close()
		}
	}()
	path, refused := filepath.Join(dir, "control", "status"), 0
	for range tries {
		f, err := os.Open(path)
		switch {
		case err == nil:
			held = append(held, f)
		case errors.Is(err, unix.EMFILE):
			refused++
		default:
			return fmt.Errorf("open the status: %w", err)
		}
	}
	if len(held) == 0 || len(held) > bound || len(held)+refused != tries {
		return fmt.Errorf("%d files of the status are open, and %d refused", len(held), refused)
	}
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(watch) }()
	_, _ = unix.InotifyAddWatch(watch, path, unix.IN_ALL_EVENTS) // allowed, and without effect
	events := []unix.PollFd{{Fd: int32(held[0].Fd()), Events: unix.POLLIN}}
	if _, err := unix.Poll(events, int(time.Second/time.Millisecond)); err != nil {
		return err
	}
	text := make([]byte, 64<<10)
	for _, f := range held {
		if n, err := f.ReadAt(text, 0); n == 0 {
			return fmt.Errorf("read an open status: %w", err)
		}
	}
	if !strings.Contains(string(text), "worker_pid") {
		return errors.New("the status does not say what it should")
	}
	return nil
}
