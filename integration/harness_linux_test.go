// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/loopsetup"
)

const (
	// commandTimeout bounds one command of the program in the harness. A device
	// has to be there within 5 s (G.107); the rest is for a busy machine.
	commandTimeout = 30 * time.Second
	// answerTimeout bounds the reading of an attribute.
	answerTimeout = 10 * time.Second
)

// A result is what a command left.
type result struct {
	Stdout, Stderr string
	Code           int // exit code; -1 when a signal ended it
}

// run runs the program to its end. A program that takes longer than timeout is
// killed, and ends the test.
func run(t testing.TB, timeout time.Duration, args ...string) result {
	t.Helper()
	return runCommand(t, timeout, command(t, args...))
}

// command prepares a run of the program.
func command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	return exec.Command(binary(t), withoutZswap(args)...)
}

// withoutZswap returns the arguments of a command; of an up that does not name --zswap, with off.
// Tests count what a device stores, and zswap would keep that from it where the kernel has zswap.
func withoutZswap(args []string) []string {
	if len(args) == 0 || args[0] != "up" || slices.Contains(args, "--zswap") {
		return args
	}
	return slices.Insert(slices.Clone(args), 1, "--zswap", "off")
}

// runCommand runs any prepared command as run does.
func runCommand(t testing.TB, timeout time.Duration, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := inTime(cmd, timeout)
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatalf("%q: %v: %s%s", cmd.Args, err, stdout.Bytes(), stderr.Bytes())
	}
	return result{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// killGrace is how long a killed process may take to end. One that waits for a
// server which has its request does not end before that answers or dies.
const killGrace = 5 * time.Second

// errLate means that a process took too long and was killed.
var errLate = errors.New("killed, it took longer than")

// inTime runs a command to its end, and kills it after timeout.
func inTime(cmd *exec.Cmd, timeout time.Duration) error {
	cmd.WaitDelay = killGrace
	if err := cmd.Start(); err != nil {
		return err
	}
	var late atomic.Bool
	kill := time.AfterFunc(timeout, func() { late.Store(cmd.Process.Kill() == nil) })
	defer kill.Stop()
	force := time.AfterFunc(timeout+killGrace, func() { killServers(root) })
	defer force.Stop()
	err := cmd.Wait()
	if late.Load() {
		return fmt.Errorf("%w %s", errLate, timeout)
	}
	return err
}

// mustRun is run for what has to succeed.
func mustRun(t testing.TB, timeout time.Duration, args ...string) result {
	t.Helper()
	r := run(t, timeout, args...)
	if r.Code != 0 {
		t.Fatalf("zramfs %q: exit code %d: %s%s", args, r.Code, r.Stdout, r.Stderr)
	}
	return r
}

// system runs a program of the machine that has to succeed, and returns its
// standard output.
func system(t testing.TB, timeout time.Duration, name string, args ...string) string {
	t.Helper()
	r := runCommand(t, timeout, exec.Command(name, args...))
	if r.Code != 0 {
		t.Fatalf("%s %q: exit code %d: %s%s", name, args, r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// tempDir makes a directory below root that every user may enter. It is removed
// with whatever is in it, except for mounts.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(root, "t-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if points, err := mountsBelow(dir); err != nil || len(points) > 0 {
			t.Errorf("%s is not removed, there are mounts in it: %v, %v", dir, points, err)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// mount serves a device with these flags of zramfs mount and returns its DIR,
// which the program makes. When the test ends it takes the device back, loop
// devices on it included, and fails the test for anything that is then left. A
// test may do all that itself before.
func mount(t testing.TB, flags ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(tempDir(t), "zram")
	t.Cleanup(func() { takeBack(t, dir) })
	mustRun(t, commandTimeout, append(append([]string{"mount"}, flags...), dir)...)
	return dir
}

// data is the path of a device's data file.
func data(dir string) string { return filepath.Join(dir, "dev/zram0") }

// takeBack ends the device on dir, if there is one, and checks that nothing of
// it is left, the directory included.
func takeBack(t testing.TB, dir string) {
	t.Helper()
	takeDown(t, dir)
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left (%v)", dir, err)
	}
}

// takeDown is takeBack for a directory that may stay.
func takeDown(t testing.TB, dir string) {
	t.Helper()
	detachLoops(t, dir)
	if points, err := mountsBelow(dir); err != nil {
		t.Error(err)
	} else if slices.Contains(points, dir) {
		pid := serverOf(t, dir)
		if r := run(t, commandTimeout, "umount", dir); r.Code != 0 {
			t.Errorf("zramfs umount: exit code %d: %s", r.Code, r.Stderr)
			giveUp(t, dir, pid)
		}
		if pid != 0 && running(pid) {
			t.Errorf("the serving process %d lives on after umount", pid)
		}
	}
	if points, err := mountsBelow(dir); err != nil || len(points) > 0 {
		t.Errorf("mounts are left: %v, %v", points, err)
	}
}

// detachLoops ends the use of the device on dir by loop devices. Swap must be
// off before; here it is turned off as a last resort.
func detachLoops(t testing.TB, dir string) {
	t.Helper()
	devices, err := loopsOn(dir)
	if err != nil {
		t.Error(err)
	}
	for _, dev := range devices {
		err := loopsetup.SwapOff(dev)
		if err == nil {
			t.Errorf("%s was still swapped to", dev)
		} else if !errors.Is(err, loopsetup.ErrNotSwap) {
			t.Error(err)
		}
		if err := loopsetup.Detach(dev); err != nil && !errors.Is(err, loopsetup.ErrNotAttached) {
			t.Error(err)
		}
	}
	for end := time.Now().Add(answerTimeout); ; time.Sleep(20 * time.Millisecond) {
		devices, err := loopsOn(dir)
		if err == nil && len(devices) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("loop devices are left: %v, %v", devices, err)
			return
		}
	}
}

// serverOf returns the process that serves dir, or 0 when it does not answer.
func serverOf(t testing.TB, dir string) int {
	t.Helper()
	s, err := readStatus(dir)
	if err != nil {
		t.Error(err)
		return 0
	}
	return s.PID
}

// giveUp removes a device that could not be unmounted, by force.
func giveUp(t testing.TB, dir string, pid int) {
	t.Helper()
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		t.Errorf("detach %s: %v", dir, err)
	}
	if pid != 0 && running(pid) {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Errorf("kill %d: %v", pid, err)
		}
		waitEnd(pid, answerTimeout)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// running reports whether pid executes this run's program.
func running(pid int) bool {
	return slices.Contains(processesOf(programBelow(root)), pid)
}

// waitEnd waits until a process of the program has ended and reports whether it
// did.
func waitEnd(pid int, timeout time.Duration) bool {
	for end := time.Now().Add(timeout); running(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// statusOf reads the status of the device on dir.
func statusOf(t testing.TB, dir string) status.Status {
	t.Helper()
	s, err := readStatus(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func readStatus(dir string) (status.Status, error) {
	var s status.Status
	text, err := readBounded(filepath.Join(dir, "control/status"))
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("status of %s: %w: %q", dir, err, text)
	}
	return s, nil
}

// attribute reads a file below block/zram0.
func attribute(t testing.TB, dir, name string) string {
	t.Helper()
	text, err := readBounded(filepath.Join(dir, "block/zram0", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readBounded reads a file of a mount, whose server may not answer; then the
// reading goroutine stays behind, but can be killed with the process.
func readBounded(path string) ([]byte, error) {
	type content struct {
		text []byte
		err  error
	}
	got := make(chan content, 1)
	go func() {
		text, err := os.ReadFile(path)
		got <- content{text, err}
	}()
	select {
	case c := <-got:
		return c.text, c.err
	case <-time.After(answerTimeout):
		return nil, fmt.Errorf("read %s: no answer after %s", path, answerTimeout)
	}
}
