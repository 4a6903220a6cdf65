// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/moby/sys/mountinfo"

	"github.com/zramfs/zramfs/loopsetup"
)

func TestZramfsMounts(t *testing.T) {
	mounts := []*mountinfo.Info{
		{Minor: 50, Root: "/", Mountpoint: "/run/zram", FSType: "fuse.zramfs"},
		{Minor: 51, Root: "/", Mountpoint: "/mnt", FSType: "fuse.sshfs"},
		{Minor: 50, Root: "/", Mountpoint: "/bind", FSType: "fuse.zramfs"},
		{Minor: 50, Root: "/dev/zram0", Mountpoint: "/file", FSType: "fuse.zramfs"},
		{Minor: 52, Root: "/", Mountpoint: "/second", FSType: "fuse.zramfs"},
		{Minor: 53, Root: "/", Mountpoint: "/second", FSType: "fuse.zramfs"},
		{Minor: 54, Root: "/", Mountpoint: "/like", FSType: "fuse.zramfs2"},
	}
	for _, m := range mounts {
		m.VFSOptions = "rw,user_id=0,group_id=0"
	}
	got := zramfsMounts(mounts)
	if len(got) != 2 || got[0].Dir != "/run/zram" || got[0].number != 50 || got[1].Dir != "/second" || got[1].number != 52 {
		t.Errorf("%+v", got)
	}
}

// Any user may mount a file system of our type: it is a device for that user alone.
func TestMountOfAnotherUser(t *testing.T) {
	own := strconv.Itoa(os.Geteuid())
	for options, want := range map[string]bool{
		"rw,user_id=0,group_id=0": true, "rw,user_id=" + own + ",group_id=7": true,
		"rw,user_id=4242,group_id=0,allow_other": false, "rw,user_id=00,group_id=0": false, "rw,group_id=0": false, "": false,
	} {
		m := &mountinfo.Info{Minor: 50, Root: "/", Mountpoint: "/home/other/zram", FSType: "fuse.zramfs", VFSOptions: options}
		if got := zramfsMounts([]*mountinfo.Info{m}); len(got) == 1 != want {
			t.Errorf("%q: %+v", options, got)
		}
	}
}

func TestDeviceUse(t *testing.T) {
	swaps := []loopsetup.Swap{{Path: "/dev/sda2"}, {Path: "/dev/loop7", Used: 5}}
	mounts := []*mountinfo.Info{{Source: "/dev/loop8", Mountpoint: "/data"}, {Source: "zram0", Mountpoint: "/run/zram"}}
	loops := []loopsetup.Info{{Path: "/dev/loop8"}, {Path: "/dev/loop7"}}
	tests := []struct {
		name  string
		loops []loopsetup.Info
		want  string
		use   string
	}{
		{"none", nil, "/run/zram/dev/zram0", ""},
		{"unused", []loopsetup.Info{{Path: "/dev/loop9"}}, "/dev/loop9", ""},
		{"file system", loops[:1], "/dev/loop8", "/data"},
		{"swap", loops[1:], "/dev/loop7", "[SWAP]"},
		{"swap before others", loops, "/dev/loop7", "[SWAP]"},
	}
	for _, test := range tests {
		d := Device{Dir: "/run/zram", Loops: test.loops}
		for _, loop := range test.loops {
			d.attachUse(loop.Path, mounts, swaps)
		}
		use := d.Mountpoint
		if d.Swap() != nil {
			use = "[SWAP]"
		}
		if d.Name() != test.want || use != test.use {
			t.Errorf("%s: %s, %q; want %s, %q", test.name, d.Name(), use, test.want, test.use)
		}
	}
}

func TestPickDevices(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(dir))
	s := &survey{devices: []Device{{Dir: "/other", Elsewhere: true}, {Dir: dir, Loops: []loopsetup.Info{{Path: "/dev/loop7"}}}, {Dir: "/other"}}}
	for _, name := range []string{dir, dir + "/", link, filepath.Base(dir), "/dev/loop7", dir + "/dev/zram0"} {
		got, err := s.pick([]string{name})
		if err != nil || len(got) != 1 || got[0].Dir != dir {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := s.pick(nil); err != nil || len(got) != 3 {
		t.Errorf("no names: %v, %v", got, err)
	}
	if got, err := s.pick([]string{"/other"}); err != nil || len(got) != 2 || got[0].Elsewhere || !got[1].Elsewhere {
		t.Errorf("two on one DIR: %v, %v", got, err)
	}
	for _, name := range []string{"/run", "/dev/loop8", "/nonexistent"} {
		want := "no zramfs device at " + name + "; there are: /other, " + dir
		got, err := s.pick([]string{"/other", name})
		if !errors.Is(err, ErrNotRunning) || len(err.Error()) != len(want) {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
}

// TestRealPath follows links up to a FUSE file system, without a request to that.
func TestRealPath(t *testing.T) {
	dir := t.TempDir()
	for link, target := range map[string]string{"one": "two/three", "two": dir + "/real", "loop": "loop", "up": "../" + filepath.Base(dir) + "/real"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "real/three"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "real/inside")); err != nil {
		t.Fatal(err)
	}
	served := []*mountinfo.Info{{Mountpoint: dir + "/real", FSType: "fuse.zramfs"}}
	for _, test := range []struct {
		path, want string
		mounts     []*mountinfo.Info
	}{
		{dir + "/one", dir + "/real/three", nil},
		{dir + "/up/three", dir + "/real/three", nil},
		{dir + "/nowhere/at/all", dir + "/nowhere/at/all", nil},
		{dir + "/loop", dir + "/loop", nil},
		{dir + "/two/inside", "/", nil},
		{dir + "/two/inside", dir + "/real/inside", served},
		{"/", "/", nil},
	} {
		if got := realPath(test.path, test.mounts); got != test.want {
			t.Errorf("%s: %s, want %s", test.path, got, test.want)
		}
	}
}
