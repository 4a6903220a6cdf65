// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/zramfs/zramfs/cmd/zramfs/aside"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

func TestZramfsMounts(t *testing.T) {
	mounts := []*mountinfo.Info{
		{Major: 0, Minor: 50, Root: "/", Mountpoint: "/run/zram", FSType: "fuse.zramfs"},
		{Major: 0, Minor: 51, Root: "/", Mountpoint: "/mnt", FSType: "fuse.sshfs"},
		{Major: 0, Minor: 50, Root: "/", Mountpoint: "/bind", FSType: "fuse.zramfs"},
		{Major: 0, Minor: 50, Root: "/dev/zram0", Mountpoint: "/file", FSType: "fuse.zramfs"},
		{Major: 0, Minor: 52, Root: "/", Mountpoint: "/second", FSType: "fuse.zramfs"},
		{Major: 0, Minor: 53, Root: "/", Mountpoint: "/second", FSType: "fuse.zramfs"},
		{Major: 0, Minor: 54, Root: "/", Mountpoint: "/like", FSType: "fuse.zramfs2"},
	}
	got := zramfsMounts(mounts)
	if len(got) != 2 || got[0].Dir != "/run/zram" || got[0].number != 50 || got[1].Dir != "/second" || got[1].number != 52 {
		t.Errorf("%+v", got)
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
		use   any
	}{
		{"none", nil, "/run/zram/dev/zram0", nil},
		{"unused", []loopsetup.Info{{Path: "/dev/loop9"}}, "/dev/loop9", nil},
		{"file system", loops[:1], "/dev/loop8", "/data"},
		{"swap", loops[1:], "/dev/loop7", "[SWAP]"},
		{"swap before others", loops, "/dev/loop7", "[SWAP]"},
	}
	for _, test := range tests {
		d := device{Dir: "/run/zram", Loops: test.loops}
		for _, loop := range test.loops {
			d.attachUse(loop.Path, mounts, swaps)
		}
		if d.name() != test.want || d.use() != test.use {
			t.Errorf("%s: %s, %v; want %s, %v", test.name, d.name(), d.use(), test.want, test.use)
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
	s := &survey{devices: []device{{Dir: "/other", away: true}, {Dir: dir, Loops: []loopsetup.Info{{Path: "/dev/loop7"}}}, {Dir: "/other"}}}
	for _, name := range []string{dir, dir + "/", link, filepath.Base(dir), "/dev/loop7", dir + "/dev/zram0"} {
		got, err := s.pick([]string{name})
		if err != nil || len(got) != 1 || got[0].Dir != dir {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := s.pick(nil); err != nil || len(got) != 3 {
		t.Errorf("no names: %v, %v", got, err)
	}
	if got, err := s.pick([]string{"/other"}); err != nil || len(got) != 2 || got[0].away || !got[1].away {
		t.Errorf("two on one DIR: %v, %v", got, err)
	}
	for _, name := range []string{"/run", "/dev/loop8", "/nonexistent"} {
		want := "no zramfs device at " + name + "; there are: /other, " + dir
		got, err := s.pick([]string{"/other", name})
		if !errors.Is(err, errNotRunning) || len(err.Error()) != len(want) {
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

// serverScript mounts a fuse.zramfs without a server at $1, makes it hang or die by $2, and runs
// the program behind descriptor 3 on it. The mount ends with the namespace.
const serverScript = `
set -eu
dir=$1 how=$2
shift 2
exec 4<>/dev/fuse
mount -i -t fuse.zramfs -o fd=4,rootmode=40000,user_id=0,group_id=0 zram0 "$dir"
[ "$how" = hang ] || exec 4<&-
exec timeout -s KILL 25 /proc/self/fd/3 "$@"`

// TestBrokenServer runs commands against a server that hangs and one that has died. Every command
// must end and say what is wrong.
func TestBrokenServer(t *testing.T) {
	tests := []struct {
		how, args   string
		code        int
		stdout, err string
	}{
		{"hang", "status", 1, "degraded\n  zramfs has not answered for 1 s; fix: see ", ""},
		{"hang", "list", 1, "NAME ", "has not answered"},
		{"hang", "list -J", 1, `"answer": "timeout"`, "has not answered"},
		{"hang", "umount DIR", 1, "", "does not answer, so DIR cannot be unmounted"},
		{"hang", "down DIR", 1, "", "does not answer, so DIR cannot be unmounted"},
		{"hang", "status DIR/../other", 3, "no zramfs device at ", ""},
		{"die", "status", 1, errDead.Error() + "; fix: zramfs down --force ", ""},
		{"die", "status DIR", 1, "degraded", ""},
		{"die", "list", 1, "/dev/zram0", errDead.Error()},
	}
	for _, test := range tests {
		t.Run(test.how+" "+test.args, func(t *testing.T) {
			t.Parallel()
			got, took := runAgainst(t, test.how, test.args)
			got.stderr = regexp.MustCompile(`/tmp/zr-command-\d+`).ReplaceAllString(got.stderr, "DIR")
			if got.code != test.code || !strings.Contains(got.stdout, test.stdout) || !strings.Contains(got.stderr, test.err) ||
				test.err == "" && got.stderr != "" {
				t.Errorf("%d, %q, %q; want %d, %q, %q", got.code, got.stdout, got.stderr, test.code, test.stdout, test.err)
			}
			if took > 10*aside.AnswerTime {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestBrokenServerJSON wants valid JSON about a dead server, too.
func TestBrokenServerJSON(t *testing.T) {
	got, _ := runAgainst(t, "die", "status -J DIR") // named, since others may be mounted
	var status struct{ Zramfs []report }
	if err := json.Unmarshal([]byte(got.stdout), &status); err != nil {
		t.Fatalf("%v: %q", err, got.stdout)
	}
	if len(status.Zramfs) != 1 || status.Zramfs[0].Health != "degraded" || len(status.Zramfs[0].Problems) != 1 {
		t.Errorf("%+v", status)
	}
}

// ownMounts returns the attributes of a process with a mount namespace of its own.
func ownMounts(t *testing.T) *syscall.SysProcAttr {
	t.Helper()
	if os.Geteuid() != 0 {
		return require.UserNS(t)
	}
	require.FUSE(t)
	return &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
}

// runAgainst runs the program next to a broken server's mount; DIR in args is its mount point.
func runAgainst(t *testing.T, how, args string) (outcome, time.Duration) {
	t.Helper()
	attr := ownMounts(t)
	require.Command(t, "mount")
	dir, err := os.MkdirTemp("/tmp", "zr-command-") // not TempDir, which only its owner may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	words := append([]string{"-c", serverScript, "sh", dir, how}, strings.Fields(strings.ReplaceAll(args, "DIR", dir))...)
	cmd := exec.CommandContext(t.Context(), "sh", words...)
	cmd.SysProcAttr = attr
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = append(os.Environ(), asProgram+"=1")
	begin := time.Now()
	got := runCommand(t, cmd)
	return got, time.Since(begin)
}
