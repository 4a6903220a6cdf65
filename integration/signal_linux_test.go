// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// TestSignals ends a device by a signal: not while its data file is open, and it
// says why; then it unmounts and removes the directory if it made it.
func TestSignals(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	for _, c := range []struct {
		signal  unix.Signal
		dirMade bool // before the mount, so that it stays
	}{
		{unix.SIGTERM, false},
		{unix.SIGINT, true},
	} {
		t.Run(fmt.Sprintf("%v, directory made before: %v", c.signal, c.dirMade), func(t *testing.T) {
			dir := filepath.Join(tempDir(t), "zram")
			if c.dirMade {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			f := serve(t, dir, "--size", "16M")
			refuseWhileOpen(t, f, c.signal)
			f.signal(t, c.signal)
			if !f.waitEnd() {
				t.Fatalf("it did not end\n%s", f.log)
			}
			if points, err := mountsBelow(dir); err != nil || len(points) > 0 {
				t.Errorf("mounts %v, %v", points, err)
			}
			if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) == c.dirMade {
				t.Errorf("the directory afterwards: %v", err)
			}
		})
	}
}

// refuseWhileOpen sends a signal while the data file is open, and others that
// must do nothing.
func refuseWhileOpen(t *testing.T, f *foreground, s unix.Signal) {
	t.Helper()
	file := openData(t, f.dir, 0)
	f.signal(t, s)
	f.log.wait(t, "dev/zram0 is open once")
	for _, other := range []unix.Signal{unix.SIGHUP, unix.SIGPIPE, unix.SIGQUIT, unix.SIGUSR1, unix.SIGTSTP} {
		f.signal(t, other)
	}
	want := []byte("still served")
	if _, err := file.WriteAt(want, 100); err != nil {
		t.Error(err)
	}
	got := make([]byte, len(want))
	if _, err := file.ReadAt(got, 100); err != nil || string(got) != string(want) {
		t.Errorf("read %q, %v", got, err)
	}
	if s := statusOf(t, f.dir); s.Opens != 1 || s.PID != f.pid {
		t.Errorf("status: %d opens, PID %d", s.Opens, s.PID)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	// The kernel tells the server of a closed file a moment later.
	within(t, answerTimeout, "no open handle", func() bool { return statusOf(t, f.dir).Opens == 0 })
}

// TestSignalInBackground ends a device in the background.
func TestSignalInBackground(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	pid := statusOf(t, dir).PID
	if err := unix.Kill(pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !waitEnd(pid, answerTimeout) {
		t.Errorf("process %d lives on", pid)
	}
}

// A mount that is told to end, once there is something to undo, has made a device and said so, or
// leaves nothing.
func TestMountInterrupted(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	for range 5 {
		dir := filepath.Join(tempDir(t), "zram")
		t.Cleanup(func() { takeBack(t, dir) })
		cmd := command(t, "mount", "--size", "16M", dir)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(commandTimeout, func() { _ = cmd.Process.Kill() }) // it may have ended
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		points, err := mountsBelow(dir)
		for ; err == nil && len(points) == 0 && len(ended) == 0; points, err = mountsBelow(dir) {
			time.Sleep(time.Millisecond)
		}
		_ = cmd.Process.Signal(unix.SIGTERM) // it may have ended
		<-ended                              // with the exit code
		kill.Stop()
		points, err = mountsBelow(dir)
		_, left := os.Lstat(dir)
		switch code := cmd.ProcessState.ExitCode(); {
		case err != nil:
			t.Error(err)
		case (code == 0 || code == -1) && stdout.Len() > 0 && len(points) > 0: // the latter at its very end
		case code == 1 && strings.Contains(stderr.String(), "interrupted; everything was undone") && len(points) == 0 && errors.Is(left, os.ErrNotExist):
		default:
			t.Errorf("exit code %d, %q, %q; mounts %v, %v", code, stdout.String(), stderr.String(), points, left)
		}
	}
}
