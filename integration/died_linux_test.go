// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// TestServerKilled kills the keeper and then the worker under a loop device: users of the device
// get an error at once instead of waiting for ever, and the program says what has happened and
// removes the rest.
func TestServerKilled(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	if !apart(t) {
		return
	}
	dir := mount(t, "--size", "16M")
	loop := attachments["losetup"](t, dir)
	file := openData(t, dir, 0)
	served := statusOf(t, dir)
	for _, pid := range []int{served.KeeperPID, served.WorkerPID} {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if !waitEnd(pid, answerTimeout) {
			t.Fatalf("process %d lives on", pid)
		}
	}
	if _, err := file.ReadAt(make([]byte, 10), 0); !errors.Is(err, unix.ENOTCONN) && !errors.Is(err, unix.ECONNABORTED) {
		t.Errorf("read: %v", err)
	}
	device := openFile(t, loop, unix.O_DIRECT)
	if _, err := unix.Pread(int(device.Fd()), aligned(t), 0); !errors.Is(err, unix.EIO) {
		t.Errorf("read of %s: %v", loop, err)
	}
	refused(t, filepath.Dir(dir), command(t, "mount", "--size", "16M", dir), 1, `.*/zram cannot be mounted on: .*zramfs umount`)
	if r := run(t, commandTimeout, "status", dir); r.Code != 1 || !strings.Contains(r.Stdout, "no process serves it") {
		t.Errorf("status: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if err := errors.Join(device.Close(), file.Close()); err != nil {
		t.Error(err)
	}
	system(t, toolTimeout, "losetup", "-d", loop)
	mustRun(t, commandTimeout, "umount", dir)
	// The process that would have removed it is gone.
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestForcedUnmount ends the attributes by umount -f under a loop device: what is stored is there,
// status does not say that it is lost, and down ends the device as any other.
func TestForcedUnmount(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	if !apart(t) {
		return
	}
	dir := mount(t, "--size", "16M")
	loop := attachments["losetup"](t, dir)
	keeper := statusOf(t, dir).KeeperPID
	if err := unix.Unmount(dir, unix.MNT_FORCE); !errors.Is(err, unix.EBUSY) {
		t.Fatalf("umount -f: %v", err)
	}
	device := openFile(t, loop, unix.O_DIRECT)
	if _, err := unix.Pread(int(device.Fd()), aligned(t), 0); err != nil {
		t.Errorf("read of %s: %v", loop, err)
	}
	if err := device.Close(); err != nil {
		t.Error(err)
	}
	if r := run(t, commandTimeout, "status", dir); r.Code != 1 || !strings.Contains(r.Stdout, "what is stored is there") || strings.Contains(r.Stdout, "lost") {
		t.Errorf("status: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if r := run(t, commandTimeout, "umount", dir); r.Code != 1 || !strings.Contains(r.Stderr, loop+" is on it") {
		t.Errorf("umount: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	mustRun(t, commandTimeout, "down", dir)
	if !waitEnd(keeper, answerTimeout) {
		t.Errorf("keeper %d lives on", keeper)
	}
}

// TestServerStopped stops the serving process: the program does not hang, and
// goes on when the process does.
func TestServerStopped(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	pid := statusOf(t, dir).WorkerPID
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitStopped(t, pid)
	began := time.Now()
	r := run(t, commandTimeout, "status", dir)
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("status took %s", took)
	}
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("PID %d has not answered for 1 s (state T, stopped); fix: kill -CONT %[1]d", pid); r.Code != 1 || !strings.Contains(r.Stdout, want) {
		t.Errorf("status of a stopped process: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	mustRun(t, commandTimeout, "status", dir)
}

// waitStopped waits until every thread of a process that was sent SIGSTOP has stopped: kill(2)
// returns before, and a thread that still runs on another processor answers.
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(threads) == 0 {
			t.Fatalf("process %d has no threads: %v", pid, err)
		}
		if !slices.ContainsFunc(threads, func(path string) bool {
			text, err := os.ReadFile(path)
			// The state follows the name, which is in parentheses and may hold anything.
			return err == nil && !strings.HasPrefix(string(text[bytes.LastIndexByte(text, ')')+1:]), " T")
		}) {
			return
		}
	}
	t.Fatalf("process %d does not stop", pid)
}

// TestUnmountedByOthers unmounts the data file as umount(8) does: the process removes the rest,
// ends, and removes the directory made for it, as mount checks at the end.
func TestUnmountedByOthers(t *testing.T) {
	require.Command(t, "umount")
	require.Root(t)
	require.FUSE(t)
	f := serve(t, filepath.Join(tempDir(t), "zram"), "--size", "16M")
	system(t, toolTimeout, "umount", filepath.Dir(data(f.dir)))
	if !f.waitEnd() {
		t.Errorf("process %d lives on\n%s", f.pid, f.log)
	}
	if _, err := os.Lstat(f.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
}

// TestConnectionAborted aborts one of the connections, as an administrator does
// with a file system that hangs: the processes take their dead mounts away and end.
func TestConnectionAborted(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	for name, point := range map[string]func(dir string) string{
		"attributes": func(dir string) string { return dir },
		"data":       func(dir string) string { return filepath.Dir(data(dir)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := mount(t, "--size", "16M")
			served := statusOf(t, dir)
			abortMount(t, point(dir))
			for _, pid := range []int{served.KeeperPID, served.WorkerPID} {
				if !waitEnd(pid, answerTimeout) {
					t.Errorf("process %d lives on", pid)
				}
			}
		})
	}
}

// abortMount aborts the connection of what is mounted at a place.
func abortMount(t *testing.T, point string) {
	t.Helper()
	mounts, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(point))
	if err != nil || len(mounts) != 1 {
		t.Fatal(mounts, err)
	}
	control := tempDir(t)
	if err := unix.Mount("none", control, "fusectl", 0, ""); err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(fmt.Sprintf("%s/%d/abort", control, mounts[0].Minor), []byte("1"), 0)
	if err := errors.Join(err, unix.Unmount(control, 0)); err != nil {
		t.Fatal(err)
	}
}
