// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	wire "encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// freeze stops the processes of the device at dir, and returns what lets them go
// on. The test does that at its end, too.
func freeze(t *testing.T, dir string) (pids []int, goOn func()) {
	t.Helper()
	s := statusOf(t, dir)
	pids = []int{s.KeeperPID, s.WorkerPID}
	goOn = func() {
		for _, pid := range pids {
			if err := unix.Kill(pid, unix.SIGCONT); err != nil {
				t.Error(err)
			}
		}
		pids = nil
	}
	t.Cleanup(func() { goOn() })
	for _, pid := range pids {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		waitStopped(t, pid)
	}
	return pids, goOn
}

// atMost runs the program and wants it to end in a time that a busy machine needs
// more than a second beyond.
func atMost(t *testing.T, limit time.Duration, args ...string) result {
	t.Helper()
	began := time.Now()
	r := run(t, commandTimeout, args...)
	if took := time.Since(began); took > limit {
		t.Errorf("zramfs %q took %s, want %s at most", args, took, limit)
	}
	return r
}

// A device that does not answer costs commands on another one nothing, and those on all of them a
// second. A refused action does not happen later.
func TestSilentDevice(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	well, silent := mount(t, "--size", "16M"), mount(t, "--size", "16M")
	system(t, toolTimeout, "dd", "if=/dev/urandom", "of="+data(silent), "bs=64K", "count=4", "conv=notrunc", "status=none")
	before, err := readRange(silent, 0, 256<<10)
	if err != nil {
		t.Fatal(err)
	}
	pids, goOn := freeze(t, silent)

	for range 3 {
		atMost(t, 900*time.Millisecond, "list", well)
	}
	if all := statusJSON(t, 0, well); len(all) != 1 || all[0].Answer != "ok" {
		t.Errorf("status of the other device: %+v", all)
	}
	all := statusJSON(t, 1)
	answers := make(map[string]string)
	for _, d := range all {
		answers[d.Dir] = d.Answer
	}
	if answers[well] != "ok" || answers[silent] != "timeout" {
		t.Errorf("answers: %v", answers)
	}
	list := atMost(t, 3*time.Second, "list")
	if !strings.Contains(list.Stdout, data(well)) || !strings.Contains(list.Stdout, data(silent)) || list.Code != 1 {
		t.Errorf("list: exit code %d: %s%s", list.Code, list.Stdout, list.Stderr)
	}
	for _, args := range [][]string{{"umount", silent}, {"down", silent}} {
		r := atMost(t, 4*time.Second, args...)
		want := fmt.Sprintf("zramfs (PID %d) does not answer, so %s cannot be unmounted (kill -CONT %[1]d", pids[1], silent)
		if r.Code != 1 || !strings.Contains(r.Stderr, want) {
			t.Errorf("%q: exit code %d: %s, want %s", args, r.Code, r.Stderr, want)
		}
	}
	goOn()
	after, err := readRange(silent, 0, 256<<10)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("what was refused has happened later: %v", err)
	}
	mustRun(t, commandTimeout, "status", silent)
}

// Commands that wait for a device that does not answer end at once when they are told to; by
// themselves in time in TestKeeperDoesNotAnswer.
func TestSilentDeviceIsLeft(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	file := filepath.Join(tempDir(t), "pages")
	if err := os.WriteFile(file, make([]byte, pageSize), 0o600); err != nil {
		t.Fatal(err)
	}
	freeze(t, dir)
	for _, args := range [][]string{
		{"status"}, {"list"}, {"verify", dir}, {"export", dir, file + "2"}, {"import", file, dir}, {"upgrade", dir}, {"umount", dir}, {"down", dir},
	} {
		cmd := command(t, args...)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		var told time.Time
		tell := time.AfterFunc(500*time.Millisecond, func() { told = time.Now(); _ = cmd.Process.Signal(unix.SIGTERM) })
		err := inTime(cmd, commandTimeout)
		if tell.Stop() || told.IsZero() {
			t.Errorf("zramfs %q ended before it was told to: %v: %s", args, err, said.String())
		} else if took := time.Since(told); took > 2*time.Second {
			t.Errorf("zramfs %q ended %s after it was told to: %v", args, took, err)
		}
	}
}

// deafPart mounts a zramfs on its argument whose server reads requests and answers
// none but the first: a process that waits there does not end, whatever kills it.
var deafPart = register("deaf", func(args []string) error {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)
	if err := unix.Mount("zram0", args[0], "fuse.zramfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return err
	}
	request := make([]byte, 1<<20)
	if _, err := unix.Read(fd, request); err != nil {
		return err
	}
	answer := make([]byte, 16+64) // struct fuse_out_header and fuse_init_out
	wire.LittleEndian.PutUint32(answer, uint32(len(answer)))
	copy(answer[8:16], request[8:16]) // the request's number
	wire.LittleEndian.PutUint32(answer[16:], 7)
	wire.LittleEndian.PutUint32(answer[20:], 31)
	wire.LittleEndian.PutUint32(answer[36:], 4096) // max_write
	if _, err := unix.Write(fd, answer); err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		if _, err := unix.Read(fd, request); err != nil {
			return nil // unmounted
		}
	}
})

// Commands end although the server of a device has read their request and does
// not answer.
func TestDeafDevice(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	well, dir := mount(t, "--size", "16M"), tempDir(t)
	deaf := clientCommand(t.Context(), deafPart, dir)
	out, err := deaf.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := deaf.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := unix.Unmount(dir, unix.MNT_DETACH)
		_ = deaf.Process.Kill()
		_ = deaf.Wait() // it was killed
		if err != nil {
			t.Error(err)
		}
	})
	if n, err := out.Read(make([]byte, 6)); n == 0 {
		t.Fatalf("it is not mounted: %v", err)
	}
	for _, args := range [][]string{{"list"}, {"status", "-J"}, {"status", dir}, {"umount", dir}, {"upgrade", dir}} {
		r := atMost(t, 5*time.Second, args...)
		if r.Code != 1 {
			t.Errorf("zramfs %q: exit code %d: %s%s", args, r.Code, r.Stdout, r.Stderr)
		}
	}
	atMost(t, 900*time.Millisecond, "status", well)
	if r := atMost(t, 4*time.Second, "list", well); r.Code != 0 {
		t.Errorf("list of the other device: exit code %d: %s", r.Code, r.Stderr)
	}
}
