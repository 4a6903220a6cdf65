// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

const (
	// patience bounds one answer of the serving process.
	patience = 20 * time.Second
	// deviceLife bounds the serving process: once it is killed, users of the mount get ENOTCONN
	// instead of waiting on.
	deviceLife = 90 * time.Second
)

// A device is a mounted one, seen from outside.
type device struct {
	tb      testing.TB
	config  serveConfig
	command *exec.Cmd
	stdin   io.WriteCloser
	answers chan serveState
	stderr  bytes.Buffer // to be read after exit
	exited  chan struct{}
	exit    error // after exited
	first   serveState
	// finished is the test's.
	finished bool
}

// newDevice serves from another process until the test ends, when the mount must
// have gone.
func newDevice(tb testing.TB, config serveConfig) *device {
	tb.Helper()
	require.Root(tb)
	require.FUSE(tb)
	if config.Uring {
		require.Uring(tb)
	}
	if config.Entries == 0 {
		config.Entries = 8
	}
	config.Dir = tb.TempDir()
	return startDevice(tb, config)
}

// startDevice starts the serving process, which gets the files as descriptors from
// 3 on.
func startDevice(tb testing.TB, config serveConfig, files ...*os.File) *device {
	tb.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		tb.Fatal(err)
	}
	d := &device{tb: tb, config: config, answers: make(chan serveState, 1), exited: make(chan struct{})}
	d.command = exec.Command("/proc/self/exe")
	d.command.Env = append(os.Environ(), serveVariable+"="+string(text), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	d.command.Stderr = &d.stderr
	d.command.ExtraFiles = files
	if d.stdin, err = d.command.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	stdout, err := d.command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := d.command.Start(); err != nil {
		tb.Fatal(err)
	}
	life := time.AfterFunc(deviceLife, d.kill)
	tb.Cleanup(func() {
		life.Stop()
		d.finish()
	})
	go d.listen(stdout)
	d.first = d.answer()
	return d
}

func (d *device) listen(stdout io.Reader) {
	for decoder := json.NewDecoder(stdout); ; {
		var s serveState
		if err := decoder.Decode(&s); err != nil {
			break
		}
		d.answers <- s
	}
	d.exit = d.command.Wait()
	close(d.exited)
}

func (d *device) kill() {
	if err := d.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.tb.Error(err)
	}
}

// ask sends a command and returns the answer.
func (d *device) ask(command string) serveState {
	d.tb.Helper()
	if _, err := io.WriteString(d.stdin, command+"\n"); err != nil {
		d.tb.Fatal(err)
	}
	return d.answer()
}

func (d *device) answer() serveState {
	d.tb.Helper()
	select {
	case s := <-d.answers:
		return s
	case <-d.exited:
		d.tb.Fatalf("the serving process ended: %v: %s", d.exit, &d.stderr)
	case <-time.After(patience):
		d.tb.Fatal("the serving process does not answer")
	}
	panic("not reached")
}

// finish ends the serving process and looks at what it left.
func (d *device) finish() {
	if d.finished {
		return
	}
	d.finished = true
	if err := d.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		d.tb.Error(err)
	}
	select {
	case <-d.exited:
	case <-time.After(patience):
		d.tb.Error("the serving process does not end")
		d.kill()
		<-d.exited
	}
	if d.exit != nil {
		d.tb.Errorf("the serving process ended with %v: %s", d.exit, &d.stderr)
	}
	if d.config.Inherited {
		return // the process that mounted unmounts
	}
	err := unix.Unmount(d.config.Dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: nothing is mounted
		d.tb.Error(err)
	}
}

func (d *device) path() string { return filepath.Join(d.config.Dir, fileName) }

// open opens the file, past the page cache, until the test ends.
func (d *device) open() *os.File {
	d.tb.Helper()
	f, err := os.OpenFile(d.path(), os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		d.tb.Fatal(err)
	}
	d.tb.Cleanup(func() {
		// An aborted connection cannot be asked to flush.
		if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) && !errors.Is(err, unix.ENOTCONN) {
			d.tb.Error(err)
		}
	})
	return f
}

// abort ends the connection.
func (d *device) abort() {
	d.tb.Helper()
	d.control(func(dir string) error { return os.WriteFile(dir+"/abort", []byte("1"), 0) })
}

// awaitWaiting waits until so many requests are on their way.
func (d *device) awaitWaiting(n int) {
	d.tb.Helper()
	d.control(func(dir string) error {
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			text, err := os.ReadFile(dir + "/waiting")
			if err != nil || strings.TrimSpace(string(text)) == strconv.Itoa(n) {
				return err
			}
			if time.Now().After(end) {
				return fmt.Errorf("%s requests are waiting, want %d", strings.TrimSpace(string(text)), n)
			}
		}
	})
}

// control does something with the connection's directory in fusectl, which need not be
// mounted anywhere.
func (d *device) control(do func(dir string) error) {
	d.tb.Helper()
	var st unix.Stat_t
	if err := unix.Stat(d.config.Dir, &st); err != nil {
		d.tb.Fatal(err)
	}
	control := d.tb.TempDir()
	if err := unix.Mount("none", control, "fusectl", 0, ""); err != nil {
		d.tb.Fatal(err)
	}
	err := do(fmt.Sprintf("%s/%d", control, unix.Minor(st.Dev)))
	if err := errors.Join(err, unix.Unmount(control, 0)); err != nil {
		d.tb.Fatal(err)
	}
}

// within fails the test when f takes too long.
func within(tb testing.TB, limit time.Duration, what string, f func()) {
	tb.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		tb.Fatalf("%s takes longer than %v", what, limit)
	}
}
