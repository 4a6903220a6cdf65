// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

const (
	// patience bounds one answer of the serving process.
	patience = 80 * time.Second
	// deviceLife bounds the serving process: once it is killed, users of the mount get ENOTCONN
	// instead of waiting on.
	deviceLife = 4 * time.Minute
)

// A device is a mounted one, seen from outside.
type device struct {
	tb      testing.TB
	dir     string
	command *exec.Cmd
	stdin   io.WriteCloser
	answers chan serveState
	stderr  bytes.Buffer // to be read after exit
	exited  chan struct{}
	exit    error // after exited
}

// newDevice serves a device from another process until the test ends, when it
// must unmount, pass the store's check and leave nothing.
func newDevice(tb testing.TB, config serveConfig) *device {
	tb.Helper()
	require.FUSE(tb)
	if config.Algorithm == "" {
		config.Algorithm = "lz4"
	}
	config.Dir = tb.TempDir()
	text, err := json.Marshal(config)
	if err != nil {
		tb.Fatal(err)
	}
	d := &device{tb: tb, dir: config.Dir, answers: make(chan serveState, 1), exited: make(chan struct{})}
	d.command = exec.Command("/proc/self/exe") // its path may be closed to us in a user namespace
	d.command.Env = append(os.Environ(), serveVariable+"="+string(text),
		"GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE")) // the race detector lingers a second otherwise
	d.command.Stderr = &d.stderr
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
	life := time.AfterFunc(deviceLife, func() { d.kill() })
	tb.Cleanup(func() {
		life.Stop()
		d.finish()
	})
	go d.listen(stdout)
	d.answer() // ready
	return d
}

// listen passes answers on until the process closes its output, and waits for
// its exit.
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
	if err := d.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) { // after exit it is
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
	if top, err := topMount(d.dir); err != nil || top != nil {
		d.tb.Errorf("left at %s: %+v, %v", d.dir, top, err)
		d.detach()
	}
}

// detach takes away what a killed process left.
func (d *device) detach() {
	if err := unix.Unmount(d.dir, unix.MNT_DETACH); err != nil {
		d.tb.Error(err)
	}
}

// path is a file below the mount.
func (d *device) path(elements ...string) string {
	return filepath.Join(append([]string{d.dir}, elements...)...)
}

// open opens the data file until the test ends.
func (d *device) open(flags int) *os.File {
	d.tb.Helper()
	f, err := os.OpenFile(d.path("dev", "zram0"), flags, 0)
	if err != nil {
		d.tb.Fatal(err)
	}
	d.tb.Cleanup(func() {
		if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			d.tb.Error(err)
		}
	})
	return f
}

// attribute reads block/zram0/name.
func (d *device) attribute(name string) string {
	d.tb.Helper()
	text, err := os.ReadFile(d.path("block", "zram0", name))
	if err != nil {
		d.tb.Fatal(err)
	}
	return string(text)
}

// aligned returns n bytes that start on a page, as O_DIRECT likes them.
func aligned(tb testing.TB, n int) []byte {
	tb.Helper()
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := unix.Munmap(mem); err != nil {
			tb.Error(err)
		}
	})
	return mem
}
