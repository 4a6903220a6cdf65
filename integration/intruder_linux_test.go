// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// TestIntruder asks the processes of a device as root of a container with the host's network does:
// it is the same user, sees the names of their sockets, and does not see the device. It may neither
// read nor change the swapped memory, nor name a program.
func TestIntruder(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	asked := socketsOf(t, dir)
	for _, name := range asked {
		cmd := clientCommand(t.Context(), intruder, name, dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		if r := runCommand(t, commandTimeout, cmd); r.Code != 0 {
			t.Errorf("%s: %s%s", name, r.Stdout, r.Stderr)
		}
	}
	if len(asked) != 2 {
		t.Errorf("sockets %q, want the keeper's and the worker's", asked)
	}
}

// socketsOf are the paths of the sockets of the device on dir.
func socketsOf(t testing.TB, dir string) []string {
	t.Helper()
	hash := sha256.Sum256([]byte(dir))
	names, err := filepath.Glob(fmt.Sprintf("/run/zramfs/control/%x-*", hash[:8]))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestNamesAreTaken has another user take abstract names like those of a device's sockets before
// the device is there: it is upgraded, verified and filled all the same, also by workers that come
// later.
func TestNamesAreTaken(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := filepath.Join(tempDir(t), "zram")
	taking := clientCommand(t.Context(), squatter, dir)
	taking.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	end, err := taking.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	ready, err := taking.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	taking.Stderr = os.Stderr
	if err := taking.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	t.Cleanup(func() { takeBack(t, dir) })
	mustRun(t, commandTimeout, "mount", "--size", "16M", dir)
	file := filepath.Join(tempDir(t), "pages")
	if err := os.WriteFile(file, bytes.Repeat([]byte("page"), pageSize/4), 0o600); err != nil {
		t.Fatal(err)
	}
	newCrashing(t, dir).kill()
	for _, args := range [][]string{{"verify", dir}, {"upgrade", dir}, {"import", file, dir}, {"export", "--force", dir, file}} {
		mustRun(t, commandTimeout, args...)
	}
	if err := errors.Join(end.Close(), taking.Wait()); err != nil {
		t.Error(err)
	}
}

// squatter takes names until its input ends.
var squatter = register("squatter", func(args []string) error {
	const minors = 2000
	hash := sha256.Sum256([]byte(args[0]))
	for minor := range minors {
		for _, name := range []string{
			fmt.Sprintf("@zramfs/%x-%d.guess", hash[:8], minor), fmt.Sprintf("@zramfs/%x-%d-import.guess", hash[:8], minor),
		} {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0) // open until the end
			if err == nil {
				err = unix.Bind(fd, &unix.SockaddrUnix{Name: name})
			}
			if err == nil {
				err = unix.Listen(fd, 1)
			}
			if err != nil {
				return err
			}
		}
	}
	fmt.Print(".")
	_, _ = os.Stdin.Read(make([]byte, 1)) // until it is closed
	return nil
})

// TestSocketsEnd kills both processes of a device: none of their sockets is left once another
// device has come and gone.
func TestSocketsEnd(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := filepath.Join(tempDir(t), "zram")
	f := startServe(t, dir, "--size", "16M")
	worker := statusOf(t, dir).WorkerPID
	for _, pid := range []int{f.pid, worker} {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	f.waitEnd()
	mustRun(t, commandTimeout, "umount", dir)
	if len(socketsOf(t, dir)) == 0 {
		t.Error("the sockets of killed processes are gone: the test proves nothing")
	}
	other := mount(t, "--size", "16M")
	takeBack(t, other)
	if left := append(socketsOf(t, dir), socketsOf(t, other)...); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestCommandsOfOthers runs, as another user, the commands that are root's: they always say what is
// missing.
func TestCommandsOfOthers(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	out := tempDir(t)
	if err := os.Chmod(out, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"upgrade", dir}, {"verify", dir}, {"export", dir, filepath.Join(out, "pages")}} {
		for range 10 {
			cmd := command(t, args...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
			if r := runCommand(t, commandTimeout, cmd); r.Code != 1 || !strings.Contains(r.Stderr, "permission denied: run as root") {
				t.Errorf("%s: exit code %d: %q", args[0], r.Code, r.Stderr)
				break
			}
		}
	}
}

// TestKeeperDoesNotAnswer stops a keeper: a command that asks it names that process, in time.
func TestKeeperDoesNotAnswer(t *testing.T) {
	t.Parallel()
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	keeper := statusOf(t, dir).KeeperPID
	if err := unix.Kill(keeper, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitStopped(t, keeper)
	want := fmt.Sprintf("zramfs (PID %d) did not answer within 10s", keeper)
	var both sync.WaitGroup
	for _, name := range []string{"upgrade", "verify"} {
		cmd := command(t, name, dir)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		both.Go(func() {
			if err := inTime(cmd, commandTimeout); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), want) {
				t.Errorf("%s: %v: %q, want %q", name, err, stderr.String(), want)
			}
		})
	}
	both.Wait()
	if err := unix.Kill(keeper, unix.SIGCONT); err != nil {
		t.Error(err)
	}
}

// intruder, in a mount namespace of its own, fails if anything is handed to it or taken from it.
var intruder = register("intruder", func(args []string) error {
	for _, point := range []string{filepath.Dir(data(args[1])), args[1]} {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			return err
		}
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: args[0]}) // as root of that container may
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("batch", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	if strings.HasSuffix(args[0], "import") {
		_, _, err = c.WriteMsgUnix([]byte{0}, unix.UnixRights(fd), nil)
	} else {
		_, err = c.Write([]byte("{\"image\":true}\n"))
	}
	if err != nil && !errors.Is(err, unix.EPIPE) { // sent away before it has said anything
		return err
	}
	answer, rights := make([]byte, 1000), make([]byte, 100)
	n, m, _, _, err := c.ReadMsgUnix(answer, rights)
	if errors.Is(err, unix.ECONNRESET) {
		return c.Close()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if m > 0 || bytes.HasPrefix(answer[:n], make([]byte, 16)) {
		return fmt.Errorf("the answer is %q with %d bytes of rights", answer[:n], m)
	}
	return errors.Join(err, c.Close())
})
