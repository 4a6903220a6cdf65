// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// startTop starts top on a terminal of its own, for a device without swap, and waits until it shows
// that.
func startTop(t *testing.T) (*exec.Cmd, *terminal) {
	t.Helper()
	cmd := topCommand(t, "--interval", "0.5", mount(t, "--size", "16M"))
	screen := onTerminal(t, cmd, 80, 24)
	screen.until(t, "the device", func(text string) bool { return strings.Contains(text, "pages/s") })
	return cmd, screen
}

// Bytes that are no UTF-8 keep top from no key behind them.
func TestTopTakesAnyByte(t *testing.T) {
	cmd, screen := startTop(t)
	every := make([]byte, 0, 128)
	for b := 0x80; b < 0x100; b++ {
		every = append(every, byte(b))
	}
	for _, keys := range []string{"\xff", "\xc3", "\xe2\x82", "\xc3\xa9", strings.Repeat(string(every), 8)} {
		screen.press(t, keys)
		screen.press(t, "?")
		screen.until(t, fmt.Sprintf("help after %.8q", keys), func(text string) bool { return strings.Contains(text, "the next device") })
		screen.press(t, "\x1b")
		screen.until(t, "no help", func(text string) bool { return !strings.Contains(text, "the next device") })
	}
	screen.press(t, "\xffq")
	screen.wantGivenBack(t, cmd)
}

// A terminal that takes no output, as one that Ctrl-S stopped, does not keep top from its end.
func TestTopEndsOnAStoppedTerminal(t *testing.T) {
	cmd, screen := startTop(t)
	tty, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", cmd.Process.Pid), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tty.Close() }() // nothing is written
	if err := unix.IoctlSetInt(int(tty.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	screen.resize(t, 70, 20) // it draws all of it
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	within(t, time.Minute, "its end", func() bool { return len(ended) > 0 })
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if after, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS); err != nil || *after != screen.before {
		t.Errorf("the terminal was %+v and is %+v, %v", screen.before, after, err)
	}
}
