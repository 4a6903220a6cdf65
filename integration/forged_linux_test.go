// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
)

// forger serves a file system with a status, its argument, on the connection in descriptor 3.
var forger = register("forger", func(args []string) error {
	files := func(name string, node fs.InodeEmbedder, mode uint32) fs.InodeEmbedder {
		return &forgedDir{name: name, node: node, mode: mode}
	}
	root := files("control", files("status", &fs.MemRegularFile{Data: []byte(args[0])}, fuse.S_IFREG), fuse.S_IFDIR)
	server, err := fuse.NewServer(fs.NewNodeFS(root, &fs.Options{}), "/dev/fd/3", &fuse.MountOptions{})
	if err != nil {
		return err
	}
	server.Serve()
	return nil
})

// A forgedDir is a directory with one file.
type forgedDir struct {
	fs.Inode
	name string
	node fs.InodeEmbedder
	mode uint32
}

// OnAdd makes the file.
func (d *forgedDir) OnAdd(ctx context.Context) {
	d.AddChild(d.name, d.NewPersistentInode(ctx, d.node, fs.StableAttr{Mode: d.mode}), false)
}

// forge mounts a file system of a device's type for a user, as fusermount does, who says of it what
// said has. It returns its DIR, and what ends it, as the end of the test does.
func forge(t *testing.T, uid int, said status.Status) (dir string, end func()) {
	t.Helper()
	dir = filepath.Join(tempDir(t), "forged")
	said.Dir = dir
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%[2]d,allow_other", device.Fd(), uid)
	if err := unix.Mount("zram0", dir, "fuse.zramfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		t.Fatal(err)
	}
	serving := clientCommand(t.Context(), forger, string(text))
	serving.ExtraFiles = []*os.File{device}
	serving.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	serving.Stderr = os.Stderr
	err = serving.Start()
	_ = device.Close() // the server has it
	end = sync.OnceFunc(func() {
		if serving.Process != nil {
			_, _ = serving.Process.Kill(), serving.Wait() // the connection ends with it
		}
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	if err != nil {
		t.Fatal(err)
	}
	return dir, end
}

// seen returns the device that status has at dir, or nil.
func seen(t *testing.T, dir string) *statusReport {
	t.Helper()
	r := run(t, commandTimeout, "status", "-J", dir)
	var all struct{ Zramfs []statusReport }
	if err := json.Unmarshal([]byte(r.Stdout), &all); err != nil || len(all.Zramfs) > 1 {
		t.Fatalf("status -J: %+v, %v", r, err)
	}
	if len(all.Zramfs) == 0 {
		return nil
	}
	return &all.Zramfs[0]
}

// A statusReport is what status -J has of a device.
type statusReport struct {
	Answer string
	Loops  []struct{ Path string }
	Swap   *struct{ Size, Used uint64 }
}

// Another user's file system of our type is no device for root, whatever its status says, and root
// sees all of the devices.
func TestMountOfAnotherUserIsNoDevice(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	victim := statusOf(t, dir)
	forged, _ := forge(t, unprivileged, victim)
	if got := seen(t, forged); got != nil {
		t.Errorf("root sees a device: %+v", got)
	}
	if metrics := mustRun(t, commandTimeout, "metrics", "-J").Stdout; !strings.Contains(metrics, dir) || strings.Contains(metrics, forged) {
		t.Errorf("metrics:\n%s", metrics)
	}
	if list := run(t, commandTimeout, "list", "--raw").Stdout; !strings.Contains(list, data(dir)) || strings.Contains(list, forged) {
		t.Errorf("list:\n%s", list)
	}
	if r := run(t, commandTimeout, "umount", forged); r.Code != 1 || !strings.Contains(r.Stderr, "no zramfs device at "+forged) {
		t.Errorf("umount: %+v", r)
	}
	if r := run(t, commandTimeout, "down", forged); r.Code != 1 || !strings.Contains(r.Stderr, "no zramfs device at "+forged) {
		t.Errorf("down: %+v", r)
	}
	if r := run(t, commandTimeout, "upgrade", forged); r.Code == 0 || !strings.Contains(r.Stderr, "no zramfs device at "+forged) {
		t.Errorf("upgrade: %+v", r)
	}
	own := command(t, "status", "-J", forged) // for that user it is one
	own.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	if r := runCommand(t, commandTimeout, own); !strings.Contains(r.Stdout, forged) {
		t.Errorf("the user's own status: %+v", r)
	}
	if now := statusOf(t, dir); now.KeeperPID != victim.KeeperPID || now.WorkerPID != victim.WorkerPID {
		t.Errorf("the other device was %+v, is %+v", victim, now)
	}
}

// A status that names the process of another device ends nothing of that.
func TestForgedPIDEndsNoOtherDevice(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	victim := statusOf(t, dir)
	for _, uid := range []int{unprivileged, 0} {
		forged, _ := forge(t, uid, victim)
		r := run(t, commandTimeout, "umount", forged)
		points, err := mountsBelow(forged)
		if ended := r.Code == 0; err != nil || ended != (uid == 0) || ended == slices.Contains(points, forged) {
			t.Errorf("umount of user %d's: %+v, left are %v, %v", uid, r, points, err)
		}
		if s, err := readStatus(dir); err != nil || s.KeeperPID != victim.KeeperPID {
			t.Fatalf("after umount of user %d's the other device is %+v, %v", uid, s, err)
		}
	}
}

// A status that names the loop devices of another device turns none of its swap off.
func TestSwapForgedLoopsTurnOffNoOtherSwap(t *testing.T) {
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "64M", dir)
	victim := statusOf(t, dir)
	if len(victim.Loops) != 1 {
		t.Fatalf("%+v", victim)
	}
	for _, uid := range []int{unprivileged, 0} {
		forged, end := forge(t, uid, victim)
		if got := seen(t, forged); got != nil && (len(got.Loops) > 0 || got.Swap != nil) {
			t.Errorf("status of user %d's: %+v", uid, got)
		}
		r := run(t, downTimeout, "down", "--force", forged)
		on, err := swapOn(dir)
		if err != nil || len(on) != 1 || on[0].Path != victim.Loops[0] {
			t.Fatalf("after down of user %d's (%+v) the other swap is %+v, %v", uid, r, on, err)
		}
		if s, err := readStatus(dir); err != nil || s.KeeperPID != victim.KeeperPID {
			t.Errorf("after down of user %d's the other device is %+v, %v", uid, s, err)
		}
		end()
	}
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
}
