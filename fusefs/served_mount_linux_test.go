// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/store"
)

// TestServedSettings compares what Mount says it got with the mount table and,
// where it is mounted, the kernel's own account.
func TestServedSettings(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk, AllowOther: true})
	got := d.ask(commandState).Settings
	if !got.AsyncDIO || got.MaxWrite != wantWrite || got.MaxBackground < 128 {
		t.Errorf("settings are %+v", got)
	}
	for dir, want := range map[string]struct{ typ, options string }{
		d.dir:         {"fuse.zramfs", "allow_other,default_permissions,max_read=65536"},
		d.path("dev"): {"fuse.zramfs-data", fmt.Sprintf("allow_other,default_permissions,max_read=%d", wantWrite)},
	} {
		top, err := topMount(dir)
		if err != nil || top == nil {
			t.Fatal(top, err)
		}
		if top.FSType != want.typ || top.Source != "zram0" || top.FSType == "fuse.zramfs-data" && top.Minor != got.Connection {
			t.Errorf("the mount table says %+v, we %+v", top, got)
		}
		for option := range strings.SplitSeq(want.options, ",") {
			if !strings.Contains(","+top.VFSOptions+",", ","+option+",") {
				t.Errorf("options are %q, want %s", top.VFSOptions, option)
			}
		}
		for _, option := range []string{"nosuid", "nodev", "noexec"} {
			if !strings.Contains(top.Options, option) {
				t.Errorf("options are %q, want %s", top.Options, option)
			}
		}
	}
}

// TestServedUnmountInUse asks for the mount to go while a file is open.
func TestServedUnmountInUse(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	f := d.open(os.O_RDWR)
	got := d.ask(commandUnmount).Error
	if !strings.Contains(got, ErrInUse.Error()) || !strings.Contains(got, "1 open handles") {
		t.Errorf("unmount in use: %q", got)
	}
	if _, err := f.WriteAt([]byte("still served"), 0); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := d.ask(commandUnmount).Error; got != "" {
		t.Errorf("unmount: %q", got)
	}
	if _, err := os.Stat(d.path("block")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after unmount: %v", err)
	}
	if got := d.ask(commandUnmount).Error; got != "" {
		t.Errorf("unmount twice: %q", got)
	}
}

// TestServedUnmountedByAnother takes the mount away as umount(8) does.
func TestServedUnmountedByAnother(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	for _, dir := range []string{d.path("dev"), d.dir} {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.ask(commandUnmount).Error; got != "" {
		t.Errorf("unmount of what is gone: %q", got)
	}
}

// TestServedDeviceIsNotInherited looks for a descriptor of /dev/fuse that a
// program started by the serving process would keep open, and with it a dead
// device's users waiting.
func TestServedDeviceIsNotInherited(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	proc := fmt.Sprintf("/proc/%d", d.command.Process.Pid)
	links, err := filepath.Glob(proc + "/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || target != "/dev/fuse" {
			continue
		}
		found++
		info, err := os.ReadFile(proc + "/fdinfo/" + filepath.Base(link))
		if err != nil {
			t.Fatal(err)
		}
		var pos, flags uint64
		if _, err := fmt.Sscanf(string(info), "pos: %d\nflags: %o\n", &pos, &flags); err != nil {
			t.Fatal(err)
		}
		if flags&unix.O_CLOEXEC == 0 {
			t.Errorf("descriptor %s is inherited: flags %#o", filepath.Base(link), flags)
		}
	}
	if found != 2 {
		t.Errorf("%d descriptors of /dev/fuse, want 2", found)
	}
}

// TestUnmountUnserved gives up a mount that was never served.
func TestUnmountUnserved(t *testing.T) {
	require.FUSE(t)
	dir := t.TempDir()
	if got := output(t, peeker("mount "+dir)); got != "<nil>\n<nil>\n" {
		t.Errorf("mounting and unmounting: %q", got)
	}
	if top, err := topMount(dir); top != nil || err != nil {
		t.Errorf("left: %+v, %v", top, err)
	}
}

// TestMountRefusals gives Mount directories that will not do.
func TestMountRefusals(t *testing.T) {
	require.FUSE(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mounted := newDevice(t, serveConfig{Disksize: smallDisk}).dir
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(mounted, link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir  string
		want error
	}{
		"no such directory":  {t.TempDir() + "/none", fs.ErrNotExist},
		"a file":             {file, syscall.ENOTDIR},
		"mounted":            {mounted, ErrMounted},
		"mounted, by a link": {link, ErrMounted},
	} {
		t.Run(name, func(t *testing.T) {
			session, err := NewSession(c.dir, false, nil)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if session != nil {
				t.Fatal("and a session")
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

// TestServerRefusals gives NewServer a configuration that will not do.
func TestServerRefusals(t *testing.T) {
	lz4, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Config{
		"no store":     {Algorithm: lz4},
		"no algorithm": {Store: newStore(t, store.Config{Disksize: smallDisk})},
	} {
		if s, err := NewServer(Files{}, c); s != nil || !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// TestMountOnDead finds a mount whose server was killed.
func TestMountOnDead(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	d.kill()
	<-d.exited
	d.exit = nil
	_, err := NewSession(d.dir, false, nil)
	if !errors.Is(err, ErrMounted) && !errors.Is(err, unix.ENOTCONN) {
		t.Errorf("on a dead mount: %v", err)
	}
	d.detach()
}
