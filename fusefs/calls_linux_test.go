// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/callfail"
	"github.com/zramfs/zramfs/internal/require"
)

// A session, a server or counters that cannot be made leave nothing behind and say why, and so do
// connections that cannot be ended.
func TestCallsFail(t *testing.T) {
	require.FUSE(t)
	require.Root(t)
	dir := t.TempDir()
	l := newLeft(t)
	for name, do := range map[string]func() (io.Closer, error){
		"session": func() (io.Closer, error) { return NewSession(dir, true, nil) },
		"server": func() (io.Closer, error) {
			return NewServer(l.session.files, Config{Store: l.store, Algorithm: l.algorithm()})
		},
		"counters": func() (io.Closer, error) { return counted(l.session.files) },
		"connections": func() (io.Closer, error) {
			_, err := abortConnections(map[int]*os.File{1<<20 - 1: nil})
			return nil, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			callfail.Each(t, func(t *testing.T, fail callfail.Fail) {
				var c io.Closer
				var err error
				call, errno := fail(func() { c, err = do() })
				// There are values for files that cannot be read, and older kernels lack a hint.
				excused := call == "" || errno == unix.EINTR || slices.Contains([]string{"openat", "fstat", "newfstatat"}, call) ||
					call == "madvise" && errno == unix.EINVAL
				if err != nil && (call == "" || !errors.Is(err, errno)) || err == nil && !excused {
					t.Errorf("with %q failing by %v the error is %v", call, errno, err)
				}
				if c != nil && (err == nil || name == "counters") {
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// counted is what Counters returns: private ones where it fails.
func counted(f Files) (io.Closer, error) {
	c, err := f.Counters()
	if c == nil {
		return nil, err
	}
	return c, err
}

// A mount that cannot be attached or removed is as it was, and the error says why.
func TestCallsOfMountsFail(t *testing.T) {
	require.Root(t)
	dir, err := mountPoint(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	here := func(t *testing.T) bool {
		top, err := topMount(dir)
		if err != nil {
			t.Fatal(err)
		}
		return top != nil && top.FSType == "tmpfs"
	}
	look := func(t *testing.T, what string, err error, done bool, call string, errno unix.Errno) {
		if call == "" && (err != nil || !done) || err != nil && (done || !errors.Is(err, errno)) {
			t.Errorf("%s, with %q failing by %v: %v, and it is mounted: %v", what, call, errno, err, here(t))
		}
	}
	callfail.Each(t, func(t *testing.T, fail callfail.Fail) {
		mnt := detachedMount(t)
		defer func() { _ = mnt.Close() }()
		var err error
		call, errno := fail(func() { err = attach(mnt, dir) })
		look(t, "attach", err, here(t), call, errno)
		if !here(t) {
			return
		}
		var st unix.Statx_t
		if err := unix.Statx(unix.AT_FDCWD, dir, 0, 0, &st); err != nil {
			t.Fatal(err)
		}
		if err := mnt.Close(); err != nil { // or it would be in use
			t.Fatal(err)
		}
		done := false
		call, errno = fail(func() { done, err = unmount(dir, "tmpfs", int(st.Dev_minor), 0, func() int { return 0 }) })
		look(t, "unmount", err, !here(t), call, errno)
		if done == here(t) || !done && err == nil && errno != unix.EINVAL { // which says that it is gone
			t.Errorf("with %q failing by %v it is mounted: %v, and was removed: %v", call, errno, here(t), done)
		}
		if here(t) {
			if err := unix.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		}
	})
}
