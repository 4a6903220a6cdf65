// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

const upgradeSaid = `process \d+ serves in place of \d+; requests waited for [0-9.]+m?s\n$`

// upgradeUnder hands a device over some times under a verifying load: no error and
// no wrong byte, and no worker has died.
func upgradeUnder(t *testing.T, dir, target string, times int) {
	t.Helper()
	before := statusOf(t, dir)
	v := startVerifier(t, verifyOrder{Path: target, Bytes: crashBytes, Threads: 4, Seed: 3})
	for range times {
		time.Sleep(time.Second / 4)
		r := mustRun(t, commandTimeout, "upgrade", dir)
		if !regexp.MustCompile(upgradeSaid).MatchString(r.Stdout) {
			t.Errorf("upgrade says %q", r.Stdout)
		}
	}
	sum := v.end(t)
	t.Logf("upgrades %d, requests %d, longest gap %v", times, sum.Requests, sum.Longest)
	after := statusOf(t, dir)
	if after.KeeperPID != before.KeeperPID || after.WorkerPID == before.WorkerPID || after.Restarts != 0 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// TestUpgradeUnderLoad replaces the worker while a loop device is in use.
func TestUpgradeUnderLoad(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	dir := mount(t, "--size", crashSize)
	upgradeUnder(t, dir, attachments["loopsetup"](t, dir), upgrades())
}

func upgrades() int {
	if testing.Short() {
		return 4
	}
	return 8
}

// TestUserNSUpgrade needs no privilege.
func TestUserNSUpgrade(t *testing.T) {
	if !inUserNS(t) {
		return
	}
	dir := mount(t, "--size", crashSize)
	upgradeUnder(t, dir, data(dir), upgrades())
}

// TestUpgradeRefused names programs that cannot go on: nothing changes.
func TestUpgradeRefused(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	before := statusOf(t, dir)
	other, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for binary, want := range map[string]string{
		other:          "ended before it was ready",
		text:           "not an executable file",
		text + "-none": "no such file",
	} {
		r := run(t, commandTimeout, "upgrade", "--binary", binary, dir)
		if r.Code != 1 || !strings.Contains(r.Stderr, want) || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("upgrade to %s: exit code %d: %q, want %q", filepath.Base(binary), r.Code, r.Stderr, want)
		}
	}
	if r := run(t, commandTimeout, "upgrade", filepath.Dir(dir)); r.Code != 1 || !strings.Contains(r.Stderr, "no zramfs device at ") {
		t.Errorf("upgrade of no device: exit code %d: %q", r.Code, r.Stderr)
	}
	if after := statusOf(t, dir); after.WorkerPID != before.WorkerPID {
		t.Errorf("worker %d became %d", before.WorkerPID, after.WorkerPID)
	}
}

// TestUpgradeStartsAgain has a device whose program can no longer be started: upgrade changes to
// another program, and waiting readers get what was stored.
func TestUpgradeStartsAgain(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := filepath.Join(tempDir(t), "zram")
	f := startServe(t, dir, "--size", "16M")
	accessPage(t, dir, "write")
	endWorkers(t, f)
	mustRun(t, commandTimeout, "upgrade", dir)
	accessPage(t, dir, "read")
	f.end(t)
}

// TestWorkerThatCannotBeStarted keeps the program from being executed while the worker dies, as a
// limit on the number of processes does: the keeper tries again until it succeeds.
func TestWorkerThatCannotBeStarted(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := filepath.Join(tempDir(t), "zram")
	f := startServe(t, dir, "--size", "16M")
	program := endWorkers(t, f)
	if r := run(t, commandTimeout, "upgrade", "--binary", "/bin/true", dir); r.Code != 1 { // it is not gone on with
		t.Errorf("upgrade to another program: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	if s, err := readStatus(dir); err != nil || s.Restarts != 1 {
		t.Errorf("afterwards it says %+v, %v", s, err)
		f.kill(t)
		return
	}
	f.end(t)
}

// TestUpgradeBlocksNothing names programs that an upgrade could wait for, a FIFO without a writer
// and a program that outlasts the keeper's wait, and kills the worker during that: another serves
// at once.
func TestUpgradeBlocksNothing(t *testing.T) {
	t.Parallel()
	require.Root(t)
	require.FUSE(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o700); err != nil {
		t.Fatal(err)
	}
	sleeper, sleeps := filepath.Join(t.TempDir(), "sleeper"), filepath.Join(t.TempDir(), "sleeps")
	// A shell writes the file: a program cannot be executed while a process has it open for
	// writing, and one that another test is starting has this process's files for a moment.
	script := fmt.Sprintf("printf '#!/bin/sh\\n: > %s\\nsleep 60\\n' > %s && chmod 700 %[2]s", sleeps, sleeper)
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	for name, at := range map[string]struct{ program, says string }{
		"FIFO":    {fifo, "not an executable file"},
		"sleeper": {sleeper, "not ready in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := mount(t, "--size", "16M")
			c := newCrashing(t, dir)
			accessPage(t, dir, "write")
			upgrade := command(t, "upgrade", "--binary", at.program, dir)
			said := make(chan result, 1)
			go func() { said <- runCommand(t, 2*commandTimeout, upgrade) }()
			for end := time.Now().Add(commandTimeout); len(said) == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				if _, err := os.Stat(sleeps); err == nil && at.program == sleeper {
					break
				}
			}
			c.last = statusOf(t, dir).WorkerPID
			if err := unix.Kill(c.last, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			accessPage(t, dir, "read")
			if took := time.Since(began); took > 8*time.Second { // less than the 25 s of the candidate
				t.Errorf("without a worker for %v", took)
			}
			if r := <-said; r.Code != 1 || !strings.Contains(r.Stderr, at.says) {
				t.Errorf("upgrade says %q with exit code %d, want %q", r.Stderr, r.Code, at.says)
			}
			if s := statusOf(t, dir); s.Restarts != 1 {
				t.Errorf("afterwards it says %+v", s)
			}
		})
	}
}

// TestUpgradeDies lets the new worker die after the old one has stopped and before it serves:
// another goes on, and nothing is lost.
func TestUpgradeDies(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	if os.Getenv(apartVariable) == "" {
		runWithPoints(t)
		return
	}
	file := filepath.Join(tempDir(t), "at")
	t.Setenv(killVariable, file)
	dir := mount(t, "--size", crashSize)
	v := startVerifier(t, verifyOrder{Path: attachments["loopsetup"](t, dir), Bytes: crashBytes, Threads: 4, Seed: 6})
	time.Sleep(time.Second / 4)
	if err := os.WriteFile(file, []byte("1 requests finished"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, commandTimeout, "upgrade", dir)
	if r.Code != 1 || !strings.Contains(r.Stderr, "the new program does not serve") {
		t.Errorf("upgrade: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	time.Sleep(time.Second / 4)
	v.end(t)
	if s := statusOf(t, dir); s.Restarts != 1 {
		t.Errorf("afterwards it says %+v", s)
	}
}

// TestUpgradeInUse holds what each release promises from this one on: a device in use goes on with
// the program of a later one, with its pages and settings, and so do the workers after it. Both
// programs are builds of this tree, until there is a release to build in place of the first one.
func TestUpgradeInUse(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	const version = "99.0.0"
	later := filepath.Join(tempDir(t), zramfsd.Name)
	if err := build(later, "", "cmd/zramfsd", "-X", "main.version="+version); err != nil {
		t.Fatal(err)
	}
	dir := mount(t, "--size", crashSize, "--algorithm", "lz4")
	setAttribute(t, dir, "comp_algorithm", "page:dense")
	setAttribute(t, dir, "mem_limit", "60M")
	before := statusOf(t, dir)
	if before.Version == version {
		t.Fatalf("the program to test has version %s", version)
	}
	v := startVerifier(t, verifyOrder{Path: attachments["loopsetup"](t, dir), Bytes: crashBytes, Threads: 4, Seed: 9})
	for _, step := range []func(){
		func() {},
		func() { mustRun(t, commandTimeout, "upgrade", "--binary", later, dir) },
		func() { killWorker(t, dir) },
	} {
		step()
		time.Sleep(time.Second / 2)
		v.ask(t, verifyLap)
	}
	v.end(t)
	after := statusOf(t, dir)
	if after.Version != version || after.KeeperPID != before.KeeperPID || after.WorkerPID == before.WorkerPID || after.Restarts != 1 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if after.Algorithm != "page:dense" || after.MemLimit != 60<<20 || len(after.SettingsLost) != 0 {
		t.Errorf("algorithm %s, limit %d, lost %q", after.Algorithm, after.MemLimit, after.SettingsLost)
	}
	mustRun(t, commandTimeout, "verify", dir) // a command of the first program
}

// TestUpgradeOfOtherFormats has programs that find an image or a memory of requests of another
// version, or that have another channel to the keeper: each is refused in a line, and the old
// worker goes on.
func TestUpgradeOfOtherFormats(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	accessPage(t, dir, "write")
	before := statusOf(t, dir)
	stored, _ := image(t, before.KeeperPID)
	// The keeper repairs what it has before it starts a program, which changes it then.
	change := func(f *os.File) string {
		return fmt.Sprintf("printf '\143' | dd of=%s bs=1 seek=8 conv=notrunc 2>/dev/null\nexec %s \"$@\"\n", f.Name(), serverBeside(binary(t)))
	}
	for name, c := range map[string]struct{ script, says string }{
		"image":    {change(stored), "memory image of another version: version 99, this program reads "},
		"requests": {change(requestsOf(t, before.KeeperPID)), "the memory of requests is of another version, or damaged: version 99, this program has "},
		"channel":  {"echo '{\"prepared\":99}' >&4\nsleep 60\n", "another version of the channel to its keeper: 99, this keeper has "},
	} {
		other := filepath.Join(tempDir(t), name)
		if err := os.WriteFile(other, []byte("#!/bin/sh\n"+c.script), 0o700); err != nil {
			t.Fatal(err)
		}
		r := run(t, commandTimeout, "upgrade", "--binary", other, dir)
		if r.Code != 1 || !strings.Contains(r.Stderr, c.says) || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d: %q, want %q", name, r.Code, r.Stderr, c.says)
		}
		accessPage(t, dir, "read")
		if after := statusOf(t, dir); after.WorkerPID != before.WorkerPID || after.Restarts != 0 {
			t.Errorf("%s: before %+v, after %+v", name, before, after)
		}
	}
	mustRun(t, commandTimeout, "upgrade", dir)
}

// requestsOf opens the memory of requests that a process holds.
func requestsOf(t *testing.T, pid int) *os.File {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if target, _ := os.Readlink(name); target == "/memfd:zramfs-requests (deleted)" {
			return openFile(t, name, 0)
		}
	}
	t.Fatalf("process %d holds no memory of requests", pid)
	return nil
}
