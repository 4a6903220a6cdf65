// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

// usedBy is said of a file that anything has open.
const usedBy = "in use by a program, a loop device or swap"

// refusesBacking wants mount to refuse a backing device with exit code 1 and this cause.
func refusesBacking(t *testing.T, what, path, cause string) {
	t.Helper()
	dir := filepath.Join(tempDir(t), "zram")
	t.Cleanup(func() { takeBack(t, dir) })
	if r := run(t, commandTimeout, "mount", "--size", "16M", "--spill", path, dir); r.Code != 1 || !strings.Contains(r.Stderr, cause) {
		t.Errorf("%s: exit code %d, %q, want %q", what, r.Code, r.Stderr, cause)
	}
}

// fileSystemOn makes a file system on a block device and mounts it.
func fileSystemOn(t *testing.T, device string) (dir string) {
	t.Helper()
	require.Command(t, "mkfs.ext4")
	dir = tempDir(t)
	system(t, commandTimeout, "mkfs.ext4", "-q", device)
	system(t, commandTimeout, "mount", device, dir)
	t.Cleanup(func() { system(t, commandTimeout, "umount", dir) })
	return dir
}

// A backing device that anything else uses is refused, by whatever path and through whatever
// layers, and what uses it keeps its data.
func TestBackingDeviceInUse(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	image := backingFile(t, 8<<20)
	lower := attachBacking(t, image)
	upper := attachBacking(t, lower)
	files := fileSystemOn(t, upper)
	inner := filepath.Join(files, "inner")
	if err := os.WriteFile(inner, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	link := image + "-link"
	for name, make := range map[string]func() error{
		link:              func() error { return os.Link(image, link) },
		image + "-symbol": func() error { return os.Symlink(image, image+"-symbol") },
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(name) })
		refusesBacking(t, "another path of the file below a mounted loop device", name, usedBy)
	}
	refusesBacking(t, "the file below a mounted loop device", image, usedBy)
	refusesBacking(t, "the loop device below a mounted one", lower, filepath.Base(upper))
	refusesBacking(t, "a mounted loop device", upper, "busy")
	again := attachBacking(t, image)
	refusesBacking(t, "a second loop device on the file of a mounted one", again, filepath.Base(lower))
	innerLoop := attachBacking(t, inner)
	refusesBacking(t, "the file below a loop device on a mounted one", inner, usedBy)
	mount(t, "--size", "16M", "--spill", innerLoop) // nothing else uses it
	if err := unix.Unmount(files, 0); err == nil {
		t.Error("the file system of a backing device in use was unmounted")
	}

	open := backingFile(t, 1<<20)
	f, err := os.Open(open)
	if err != nil {
		t.Fatal(err)
	}
	refusesBacking(t, "a file that a process reads", open, usedBy)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	readOnly := strings.TrimSpace(system(t, commandTimeout, "losetup", "--find", "--show", "--read-only", open))
	t.Cleanup(func() { system(t, commandTimeout, "losetup", "--detach", readOnly) })
	refusesBacking(t, "a read-only device", readOnly, "read-only")
	refusesBacking(t, "the file below a read-only device", open, usedBy)
}

// A device refuses the backing device of another one by any path, and what lies on it: a loop
// device on its file or its block device, and a file on such a loop device.
func TestBackingDeviceOnAnothers(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	file := backingFile(t, 8<<20)
	system(t, commandTimeout, "mkfs.ext4", "-q", "-b", "4096", file)
	mount(t, "--size", "16M", "--spill", file)
	link, bound := file+"-link", filepath.Join(tempDir(t), "bound")
	if err := errors.Join(os.Link(file, link), os.WriteFile(bound, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(link) }) // it has the name of this test's file
	system(t, commandTimeout, "mount", "--bind", file, bound)
	t.Cleanup(func() { system(t, commandTimeout, "umount", bound) })
	refusesBacking(t, "another's file by a hard link", link, "in use by another device")
	refusesBacking(t, "another's file by a bind mount", bound, "in use by another device")
	above := attachBacking(t, file)
	refusesBacking(t, "a loop device on another's file", above, "in use by another device")
	refusesBacking(t, "a loop device on that", attachBacking(t, above), "in use by another device")
	files := tempDir(t)
	system(t, commandTimeout, "mount", above, files)
	t.Cleanup(func() { system(t, commandTimeout, "umount", files) })
	inner := filepath.Join(files, "inner")
	if err := os.WriteFile(inner, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	refusesBacking(t, "a file on a loop device on another's file", inner, "in use by another device")

	device := attachBacking(t, backingFile(t, 8<<20))
	mount(t, "--size", "16M", "--spill", device)
	refusesBacking(t, "a loop device on another's device", attachBacking(t, device), "busy")
}

// A file that is swapped to is refused.
func TestSwapFileIsNoBackingDevice(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Swap(t)
	binary(t)
	file := backingFile(t, 1<<20)
	system(t, commandTimeout, "mkswap", "--quiet", file)
	guard := exec.Command("sh", "-c", `sleep 50; exec swapoff "$0"`, file)
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := guard.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := loopsetup.SwapOff(file); err != nil {
			t.Error(err)
		}
		_ = unix.Kill(-guard.Process.Pid, unix.SIGKILL) // its sleep too
		_ = guard.Wait()
	})
	if err := loopsetup.SwapOn(file, -1, loopsetup.DiscardNone); err != nil {
		t.Fatal(err)
	}
	refusesBacking(t, "an active swap file", file, usedBy)
}

// Damage to a page that was written back is said to be done by what else writes to the backing
// device.
func TestForeignWriteIsSaidToBeThat(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	backing := backingFile(t, 1<<20)
	dir := mount(t, "--size", "16M", "--spill", backing)
	const pages = 8
	if err := os.WriteFile(data(dir), backedPages(pages), 0o600); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, dir, "idle", "all", nil)
	wantAnswer(t, dir, "writeback", "idle", nil)
	if err := os.WriteFile(backing, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	fd := openData(t, dir, unix.O_DIRECT)
	if n, err := unix.Pread(int(fd.Fd()), make([]byte, pageSize), 0); err == nil {
		t.Errorf("%d bytes of an overwritten page were read", n)
	}
	within(t, time.Minute, "an event names the other writer", func() bool {
		return strings.Contains(mustRun(t, commandTimeout, "events", dir).Stdout, "something else writes to that device")
	})
	if r := run(t, commandTimeout, "status", dir); !strings.Contains(r.Stdout, "something else wrote to the backing device") {
		t.Errorf("status: %q", r.Stdout)
	}
}
