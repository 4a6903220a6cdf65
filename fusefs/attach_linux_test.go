// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// A user who owns a directory of the mount point's path replaces one by a link to a directory of
// the system, after the path was looked at: nothing is mounted there.
func TestMountIsNotMisled(t *testing.T) {
	require.Root(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(names ...string) string { return filepath.Join(append([]string{base}, names...)...) }
	if err := errors.Join(os.MkdirAll(in("user", "a", "zram"), 0o755), os.MkdirAll(in("system", "zram"), 0o755)); err != nil {
		t.Fatal(err)
	}
	dir, err := mountPoint(in("user", "a", "zram"))
	if err != nil {
		t.Fatal(err)
	}
	mnt := detachedMount(t)
	if err := errors.Join(os.Rename(in("user", "a"), in("user", "gone")), os.Symlink(in("system"), in("user", "a"))); err != nil {
		t.Fatal(err)
	}
	if err := attach(mnt, dir); !errors.Is(err, errMoved) {
		t.Errorf("a directory of the path is a link now: %v", err)
	}
	if err := errors.Join(os.Remove(in("user", "a")), os.Mkdir(in("user", "a"), 0o755), os.Symlink(in("system", "zram"), dir)); err != nil {
		t.Fatal(err)
	}
	if err := attach(mnt, dir); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("the mount point is a link now: %v", err)
	}
	if top, err := topMount(in("system", "zram")); top != nil || err != nil {
		t.Errorf("mounted elsewhere: %+v, %v", top, err)
	}
}

// unmount removes a mount once, and no other one.
func TestUnmountSaysWhetherItDid(t *testing.T) {
	require.Root(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := attach(detachedMount(t), dir); err != nil {
		t.Fatal(err)
	}
	top, err := topMount(dir)
	if err != nil || top == nil {
		t.Fatal(top, err)
	}
	for _, c := range []struct {
		typ    string
		number int
		flags  int
		want   bool
	}{
		{typeName, top.Minor, 0, false}, {"tmpfs", top.Minor + 1, 0, false}, {"tmpfs", top.Minor, unix.MNT_DETACH, true}, {"tmpfs", top.Minor, 0, false},
	} {
		if done, err := unmount(dir, c.typ, c.number, c.flags, func() int { return 0 }); done != c.want || err != nil {
			t.Errorf("%+v: %v, %v", c, done, err)
		}
	}
}

// detachedMount makes a mount that is attached nowhere.
func detachedMount(t *testing.T) *os.File {
	t.Helper()
	context, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(context) }()
	if err := unix.FsconfigCreate(context); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "mount")
	t.Cleanup(func() { _ = f.Close() })
	return f
}
