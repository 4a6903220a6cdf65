// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// TestUmountWithoutWorker ends a device that has no worker: that works, and says nothing else.
func TestUmountWithoutWorker(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := filepath.Join(tempDir(t), "zram")
	f := startServe(t, dir, "--size", "16M")
	endWorkers(t, f)
	if r := run(t, commandTimeout, "umount", dir); r.Code != 0 || r.Stderr != "" {
		t.Errorf("umount: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if !f.waitEnd() {
		t.Errorf("the keeper %d lives on", f.pid)
		f.kill(t)
	}
	takeBack(t, dir)
}

// TestMountToFullOutput has a standard output that takes nothing: the device is taken back.
func TestMountToFullOutput(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := filepath.Join(tempDir(t), "zram")
	t.Cleanup(func() { takeBack(t, dir) })
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "mount", "--size", "16M", dir)
	cmd.Stdout = full
	if err := inTime(cmd, commandTimeout); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("mount: %v", err)
	}
	if points, err := mountsBelow(dir); err != nil || len(points) > 0 {
		t.Errorf("left mounted: %v, %v", points, err)
	}
	if err := full.Close(); err != nil {
		t.Error(err)
	}
}

// TestMountIsKilled kills mount before it hears of its device. Its caller does not hear of it
// either, so the keeper takes it back.
func TestMountIsKilled(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	for range 5 {
		dir := filepath.Join(tempDir(t), "zram")
		t.Cleanup(func() { takeBack(t, dir) })
		cmd := command(t, "mount", "--size", "16M", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		keeper := 0
		for end := time.Now().Add(answerTimeout); keeper == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
			for _, pid := range childrenOf(cmd.Process.Pid) { // others try what the kernel can do
				if strings.Contains(commandLine(pid), "zramfsd keeper ") {
					keeper = pid
				}
			}
		}
		err := cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if err != nil || keeper == 0 {
			t.Fatalf("the keeper is %d, %v", keeper, err)
		}
		if waitEnd(keeper, answerTimeout) {
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", dir, err)
			}
			return
		}
	}
	t.Error("each keeper goes on, though only one that was ready before mount was killed may")
}

// TestImportOfFIFO names a FIFO that no process writes to.
func TestImportOfFIFO(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	fifo := filepath.Join(tempDir(t), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := run(t, commandTimeout, "import", fifo, dir); r.Code != 1 || !strings.Contains(r.Stderr, "regular file") {
		t.Errorf("import: exit code %d: %q", r.Code, r.Stderr)
	}
}

// TestLimitedProcess has too little address space: that is said in one line, before anything is
// done.
func TestLimitedProcess(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := filepath.Join(tempDir(t), "zram")
	t.Cleanup(func() { takeBack(t, dir) })
	const script = "ulimit -v 1800000 && exec \"$0\" mount --size 64M \"$1\""
	r := runCommand(t, commandTimeout, exec.Command("sh", "-c", script, binary(t), dir))
	if r.Code != 1 || !strings.Contains(r.Stderr, "address space are allowed (ulimit -v)") || strings.Count(r.Stderr, "\n") != 1 {
		t.Errorf("exit code %d: %q", r.Code, r.Stderr)
	}
}
