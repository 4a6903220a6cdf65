// SPDX-License-Identifier: Apache-2.0

package helper

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if Run(os.Args, os.Stdout) { // Call has started this process
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if _, err := CallTimeout(time.Minute, Write, path, "x"); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("write made a file: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := CallTimeout(time.Minute, Write, path, "text"); err != nil {
		t.Error(err)
	}
	if text, err := CallTimeout(time.Minute, Read, path); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := CallTimeout(time.Minute, Probe, path); err == nil || errors.Is(err, ErrNoAnswer) {
		t.Errorf("a file that is no loop device: %v", err)
	}
}

// Opening a FIFO without a writer never returns.
func TestNoAnswer(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := CallTimeout(50*time.Millisecond, Read, fifo); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v, want %v", err, ErrNoAnswer)
	}
}

// A process that does not end although it was killed is the only one for a while: the same call
// waits for it and makes no other, and goes on once it has ended. Other calls are made.
func TestOneProcessIsLeft(t *testing.T) {
	path, other := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "other")
	for _, name := range []string{path, other} {
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gone := make(chan struct{})
	left.note(keyOf(Read, []string{path}), gone, time.Now())
	if text, err := CallTimeout(50*time.Millisecond, Read, path); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%q, %v: another process was made", text, err)
	}
	if text, err := CallTimeout(time.Minute, Read, other); err != nil || string(text) != "text" {
		t.Errorf("another file: %q, %v", text, err)
	}
	if _, err := CallTimeout(time.Minute, Write, path, "next"); err != nil {
		t.Errorf("another call: %v", err)
	}
	close(gone)
	if text, err := CallTimeout(time.Minute, Read, path); err != nil || string(text) != "next" {
		t.Errorf("after its end: %q, %v", text, err)
	}
}

// Another process is made after a minute, and the next ones after twice the time each.
func TestPausesBetweenProcesses(t *testing.T) {
	var l leftovers
	ended, end := context.WithCancel(t.Context())
	end()
	never := make(chan struct{})
	for i, test := range []struct {
		age  time.Duration
		made bool
	}{{firstPause / 2, false}, {2 * firstPause, true}, {3 * firstPause, false}, {8 * firstPause, true}} {
		l.note("x", never, time.Now().Add(-test.age))
		if made := l.wait(ended, "x"); made != test.made {
			t.Errorf("after process %d, which was left %v ago: another one is made: %v", i, test.age, made)
		}
	}
}

// Run leaves the arguments of every other process alone.
func TestRunOfOtherArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"zramfs", "status", "--aside", "read"}, {"zramfs", "--aside", "read"}, {"zramfs", "--aside", "remove", "/x"}} {
		if Run(args, nil) {
			t.Errorf("%q was run", args)
		}
	}
}

// texts are what the workers of a device tell, one read after the other.
type texts []string

func (t *texts) Read(p []byte) (n int, err error) {
	if len(*t) == 0 {
		return 0, io.EOF
	}
	n = copy(p, (*t)[0])
	*t = (*t)[1:]
	return n, nil
}

// A status is of one worker, although another one takes over while it is read.
func TestReadAtOnce(t *testing.T) {
	long := strings.Repeat("x", attributeMost)
	for _, c := range []struct {
		told texts
		want string
	}{
		{nil, ""},
		{texts{`{"opens": 1}`, `: 20}`}, `{"opens": 1}`},
		{texts{long, "rest"}, long + "rest"},
	} {
		if text, err := readAtOnce(&c.told); err != nil || string(text) != c.want {
			t.Errorf("%d bytes, %v; want %d", len(text), err, len(c.want))
		}
	}
}
