// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	endian "encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// addDevice makes an extra device of dir by control/hot_add, and ends it with the test.
func addDevice(t *testing.T, dir string) (name string) {
	t.Helper()
	text, err := readBounded(filepath.Join(dir, "control/hot_add"))
	if err != nil {
		t.Fatal(err)
	}
	name = "zram" + strings.TrimSpace(string(text))
	t.Cleanup(func() { takeDown(t, filepath.Join(dir, "devices", name)) })
	return name
}

// F072: devices zram0 to zram7 in one directory, each with its own size, limit, algorithm and
// contents. One whose worker dies does not concern the others.
func TestF072EightDevices(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	dir := mount(t, "--size", "16M", "-a", "lz4")
	algorithms := []string{"lz4", "page", "zstd", "raw", "adaptive", "page:dense", "lz4:fast", "zstd(level=7)"}
	file := func(name, attribute string) string { return filepath.Join(dir, "block", name, attribute) }
	content := func(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "device %d of eight. ", i), 1000) }
	for i, algorithm := range algorithms {
		name := "zram0"
		if i > 0 {
			if name = addDevice(t, dir); name != fmt.Sprintf("zram%d", i) {
				t.Fatalf("device %d is %s", i, name)
			}
			for _, c := range [][2]string{{"comp_algorithm", algorithm}, {"mem_limit", fmt.Sprint(20+i, "M")}, {"disksize", fmt.Sprint(16+i, "M")}} {
				if got := answerTo(file(name, c[0]), c[1]); got != fmt.Sprintf("%d bytes", len(c[1])) {
					t.Fatalf("%s of %s: %s", c[0], name, got)
				}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "dev", name), content(i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Kill(statusOf(t, filepath.Join(dir, "devices/zram3")).WorkerPID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(statusOf(t, dir).WorkerPID, unix.SIGKILL); err != nil { // the links stay
		t.Fatal(err)
	}
	listed := mustRun(t, commandTimeout, "list", "--noheadings", "--raw", "--bytes", "--output", "NAME,ALGORITHM,DISKSIZE").Stdout
	for i, algorithm := range algorithms {
		name := fmt.Sprintf("zram%d", i)
		text, err := os.ReadFile(filepath.Join(dir, "dev", name))
		if err != nil || len(text) != (16+i)<<20 || !bytes.HasPrefix(text, content(i)) {
			t.Errorf("%s has %d bytes, or others than were written: %v", name, len(text), err)
		}
		chosen, err := os.ReadFile(file(name, "comp_algorithm"))
		if err != nil || !strings.Contains(string(chosen), "["+algorithm+"]") {
			t.Errorf("%s has the algorithm %q, want %s: %v", name, chosen, algorithm, err)
		}
		want := fmt.Sprintf("%s %s %d", filepath.Join(dir, "devices", name, "dev/zram0"), algorithm, (16+i)<<20)
		if i == 0 {
			want = fmt.Sprintf("%s lz4 %d", data(dir), 16<<20)
		}
		if !strings.Contains(listed, want) {
			t.Errorf("list does not show %q:\n%s", want, listed)
		}
	}
}

// F073: control/hot_add and hot_remove, with the answers of the kernel's.
func TestF073HotAddAndRemove(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	dir := mount(t, "--size", "16M")
	remove := filepath.Join(dir, "control/hot_remove")
	fd, err := unix.Open(filepath.Join(dir, "control/hot_add"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Close(fd) // only a read makes a device
	}
	if err != nil {
		t.Fatal(err)
	}
	if first, second := addDevice(t, dir), addDevice(t, dir); first != "zram1" || second != "zram2" {
		t.Errorf("%s and %s were made, want zram1 and zram2", first, second)
	}
	for name, want := range map[string]string{"initstate": "0\n", "disksize": "0\n", "size": "0\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, "block/zram1", name)); err != nil || string(got) != want {
			t.Errorf("%s of a new device is %q, want %q: %v", name, got, want, err)
		}
	}
	if got := answerTo(filepath.Join(dir, "block/zram1/disksize"), "16M"); got != "3 bytes" {
		t.Fatal(got)
	}
	loop := strings.TrimSpace(system(t, toolTimeout, "losetup", "-f", "--show", filepath.Join(dir, "dev/zram1")))
	if got := answerTo(remove, "1"); got != unix.EBUSY.Error() {
		t.Errorf("remove a device in use: %s", got)
	}
	if r := run(t, commandTimeout, "umount", dir); r.Code != 1 || !strings.Contains(r.Stderr, "devices/zram") {
		t.Errorf("umount with extra devices: code %d, %s", r.Code, r.Stderr)
	}
	system(t, toolTimeout, "losetup", "-d", loop)
	if got := answerTo(remove, "1\n"); got != "2 bytes" {
		t.Errorf("remove a device: %s", got)
	}
	for _, path := range []string{"dev/zram1", "block/zram1"} {
		if _, err := os.Lstat(filepath.Join(dir, path)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if again := addDevice(t, dir); again != "zram1" {
		t.Errorf("%s was made, want the free number 1", again)
	}
	keepers := []int{statusOf(t, dir).KeeperPID, statusOf(t, filepath.Join(dir, "devices/zram1")).KeeperPID, statusOf(t, filepath.Join(dir, "devices/zram2")).KeeperPID}
	defer func() { // all end with the first one, in the right order
		if err := unix.Kill(keepers[0], unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for _, pid := range keepers {
			if !waitEnd(pid, answerTimeout) {
				t.Errorf("keeper %d of %v lives on", pid, keepers)
			}
		}
	}()
	for text, want := range map[string]string{
		"99": "", "x": "", "-1": "", "": "", "0x5": "", "77\n": "", " 5": "", "99999999999": "", "0": unix.EBUSY.Error(), "40": unix.ENODEV.Error(),
	} {
		if want == "" {
			want = answerTo(zramControl+"/hot_remove", text) // no device of the kernel has one of the numbers
		}
		if got := answerTo(remove, text); got != want {
			t.Errorf("%q to hot_remove: %s, want %s", text, got, want)
		}
	}
}

// A program that reads all files below DIR makes no device; extra devices have neither hot_add
// nor hot_remove. umount ends them with DIR, and none while one is in use.
func TestReadingAllFilesMakesNoDevice(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "1M")
	further := filepath.Join(dir, "devices/zram1")
	t.Cleanup(func() { takeDown(t, further) }) // where one is made
	readAll := func() {
		t.Helper()
		before, err := mountsBelow(dir)
		if err != nil {
			t.Fatal(err)
		}
		err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			_, _ = readBounded(path) // some can only be written
			if now, err := mountsBelow(dir); err != nil || len(now) != len(before) {
				return fmt.Errorf("reading %s made a device: %v, %v", path, now, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	readAll()
	if name := addDevice(t, dir); name != "zram1" {
		t.Fatalf("%s was made", name)
	}
	readAll()
	for _, name := range []string{"hot_add", "hot_remove"} {
		if _, err := os.Stat(filepath.Join(further, "control", name)); !os.IsNotExist(err) {
			t.Errorf("%s of an extra device: %v", name, err)
		}
	}
	copied := t.TempDir()
	for _, args := range [][]string{{"grep", "-r", "no such text", dir}, {"cp", "-a", dir, copied}, {"tar", "-cf", filepath.Join(copied, "tar"), dir}} {
		runCommand(t, toolTimeout, exec.Command(args[0], args[1:]...)) // they complain of files that can only be written
	}
	if points, err := mountsBelow(dir); err != nil || len(points) != 4 {
		t.Fatalf("grep, cp or tar made devices: %q, %v", points, err)
	}
	if got := answerTo(filepath.Join(further, "block/zram0/disksize"), "1M"); got != "2 bytes" {
		t.Fatal(got)
	}
	keepers := []int{statusOf(t, dir).KeeperPID, statusOf(t, further).KeeperPID}
	fd, err := unix.Open(data(further), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, run(t, commandTimeout, "umount", dir), further, "is in use")
	for _, d := range []string{dir, further} {
		mustRun(t, commandTimeout, "status", d)
	}
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
	mustRun(t, commandTimeout, "umount", dir)
	for _, pid := range keepers {
		if !waitEnd(pid, answerTimeout) {
			t.Errorf("keeper %d of %v lives on", pid, keepers)
		}
	}
}

// The first device ends by umount of its data file: its directory stays, with the extra devices
// below it, until the last of them has ended, whatever becomes of its workers.
func TestExtraDevicesOutliveTheFirst(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := filepath.Join(tempDir(t), "zram")
	f := startServe(t, dir, "--size", "16M")
	defer f.kill(t)
	content := bytes.Repeat([]byte("stays "), 1000)
	further := filepath.Join(dir, "devices", addDevice(t, dir))
	if got := answerTo(filepath.Join(further, "block/zram0/disksize"), "16M"); got != "3 bytes" {
		t.Fatal(got)
	}
	if err := os.WriteFile(data(further), content, 0o600); err != nil {
		t.Fatal(err)
	}
	first, second := statusOf(t, dir), statusOf(t, further)
	if err := unix.Unmount(filepath.Join(dir, "dev"), 0); err != nil {
		t.Fatal(err)
	}
	f.log.wait(t, "the directory stays for its extra devices")
	killWorker(t, dir) // another one serves the directory
	mustRun(t, commandTimeout, "upgrade", dir)
	if text, err := os.ReadFile(data(further)); err != nil || !bytes.HasPrefix(text, content) {
		t.Errorf("the extra device has %d bytes, or others than were written: %v", len(text), err)
	}
	if _, err := os.ReadFile(filepath.Join(dir, "control/hot_add")); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("hot_add without the first device: %v", err)
	}
	last := statusOf(t, dir)
	if got := answerTo(filepath.Join(dir, "control/hot_remove"), "1"); got != "1 bytes" {
		t.Errorf("hot_remove: %s", got)
	}
	if !f.waitEnd() || f.err != nil {
		t.Errorf("the keeper lives on, or ended with %v\n%s", f.err, f.log)
	}
	for _, pid := range []int{second.KeeperPID, second.WorkerPID, first.WorkerPID, last.WorkerPID} {
		if !waitEnd(pid, answerTimeout) {
			t.Errorf("process %d lives on", pid)
		}
	}
	if points, err := mountsBelow(dir); err != nil || len(points) > 0 {
		t.Errorf("mounts are left: %v, %v", points, err)
	}
}

// The first device ends while a further one is made: its worker serves the directory on, and not
// only for the time that readers of attributes have.
func TestExtraDeviceComesLate(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	first := statusOf(t, dir)
	answer := make(chan error, 1)
	go func() {
		_, err := readBounded(filepath.Join(dir, "control/hot_add"))
		answer <- err
	}()
	for end := time.Now().Add(answerTimeout); len(childrenOf(first.KeeperPID)) < 2 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if err := unix.Unmount(filepath.Join(dir, "dev"), 0); err != nil {
		t.Error(err)
	}
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	if waitEnd(first.WorkerPID, attributesTime+2*time.Second) {
		t.Error("the worker has ended")
	}
	if got := answerTo(filepath.Join(dir, "control/hot_remove"), "1"); got != "1 bytes" {
		t.Errorf("hot_remove: %s", got)
	}
	if !waitEnd(first.KeeperPID, answerTimeout) {
		t.Errorf("keeper %d lives on", first.KeeperPID)
	}
}

// attributesTime is how long the worker of a device that has ended waits for readers of attributes.
const attributesTime = 10 * time.Second

// The keeper of an extra device is killed, and its worker serves on: the device keeps its number
// and its contents, also where the first device ends, until it is removed.
func TestExtraDeviceWithoutKeeper(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	further := filepath.Join(dir, "devices", addDevice(t, dir))
	if got := answerTo(filepath.Join(further, "block/zram0/disksize"), "16M"); got != "3 bytes" {
		t.Fatal(got)
	}
	content := bytes.Repeat([]byte("stays "), 1000)
	if err := os.WriteFile(data(further), content, 0o600); err != nil {
		t.Fatal(err)
	}
	first, second := statusOf(t, dir), statusOf(t, further)
	if err := unix.Kill(second.KeeperPID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(answerTimeout); exists(second.KeeperPID) && time.Now().Before(end); { // the first one awaits it
		time.Sleep(time.Millisecond)
	}
	if name := addDevice(t, dir); name != "zram2" {
		t.Errorf("%s was made, want zram2", name)
	}
	if got := answerTo(filepath.Join(dir, "control/hot_remove"), "2"); got != "1 bytes" {
		t.Errorf("hot_remove of another device: %s", got)
	}
	if err := unix.Unmount(filepath.Join(dir, "dev"), 0); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(data(further)); err != nil || !bytes.HasPrefix(text, content) {
		t.Errorf("the extra device has %d bytes, or others than were written: %v", len(text), err)
	}
	if got := answerTo(filepath.Join(dir, "control/hot_remove"), "1"); got != "1 bytes" {
		t.Errorf("hot_remove: %s", got)
	}
	for _, pid := range []int{second.WorkerPID, first.KeeperPID, first.WorkerPID} {
		if !waitEnd(pid, answerTimeout) {
			t.Errorf("process %d lives on", pid)
		}
	}
}

// exists reports whether there is a process, also one that has ended and is awaited.
func exists(pid int) bool { return unix.Kill(pid, 0) == nil }

// A day after the kernel has asked for the attributes of a directory, umount -f ends its extra
// devices as well, whose mount points can no longer be reached.
func TestForcedUnmountWithExtraDevices(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	further := filepath.Join(dir, "devices", addDevice(t, dir))
	first, second := statusOf(t, dir), statusOf(t, further)
	forgetRoot(t, first.WorkerPID)
	if err := unix.Unmount(dir, unix.MNT_FORCE); !errors.Is(err, unix.EBUSY) {
		t.Fatalf("umount -f: %v", err)
	}
	for _, pid := range []int{second.KeeperPID, second.WorkerPID, first.KeeperPID, first.WorkerPID} {
		if !waitEnd(pid, answerTimeout) {
			t.Errorf("process %d lives on", pid)
		}
	}
	if points, err := mountsBelow(dir); err != nil || len(points) > 0 {
		t.Errorf("mounts are left: %v, %v", points, err)
	}
}

// forgetRoot makes the kernel ask a worker for the attributes of its directory the next time that
// it needs them, as after a day.
func forgetRoot(t *testing.T, worker int) {
	t.Helper()
	const attributesFD, code, root, size = 5, 2, 1, 16 + 24 // FUSE_NOTIFY_INVAL_INODE
	process, err := unix.PidfdOpen(worker, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(process) }()
	device, err := unix.PidfdGetfd(process, attributesFD, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(device) }()
	var m []byte
	for _, n := range []uint64{size | code<<32, 0, root, math.MaxUint64, 0} {
		m = endian.LittleEndian.AppendUint64(m, n)
	}
	if _, err := unix.Write(device, m); err != nil {
		t.Fatal(err)
	}
}
