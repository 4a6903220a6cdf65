// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// manager listens as a service manager does, at a path or a name after @.
func manager(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Setenv(Variable, name)
	return c
}

// read returns one message and closes the descriptors that came with it.
func read(t *testing.T, c *net.UnixConn) (text string, fds int) {
	t.Helper()
	message, control := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	n, oob, _, _, err := c.ReadMsgUnix(message, control)
	if err != nil {
		t.Fatal(err)
	}
	all, err := unix.ParseSocketControlMessage(control[:oob])
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		rights, err := unix.ParseUnixRights(&m)
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range rights {
			if err := unix.Close(fd); err != nil {
				t.Fatal(err)
			}
			fds++
		}
	}
	return string(message[:n]), fds
}

// Ready names the main process, and returns when the manager has read the message.
func TestReady(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "notify"), "@zramfs-notify-test"} {
		c := manager(t, name)
		done := make(chan error, 1)
		go func() { done <- Ready(4711, "on\nand on") }()
		if text, _ := read(t, c); text != "MAINPID=4711\nREADY=1\nSTATUS=on and on" {
			t.Errorf("%s: the message is %q", name, text)
		}
		select {
		case err := <-done:
			t.Errorf("%s: Ready did not wait for the barrier: %v", name, err)
		default:
		}
		if text, fds := read(t, c); text != "BARRIER=1" || fds != 1 {
			t.Errorf("%s: the barrier is %q with %d descriptors", name, text, fds)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A service without a process names none.
func TestReadyWithoutProcess(t *testing.T) {
	c := manager(t, filepath.Join(t.TempDir(), "notify"))
	done := make(chan error, 1)
	go func() { done <- Ready(0, "no device") }()
	if text, _ := read(t, c); text != "READY=1\nSTATUS=no device" || !Wanted() {
		t.Errorf("the message is %q, wanted: %v", text, Wanted())
	}
	read(t, c)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestExtendAndStopping(t *testing.T) {
	c := manager(t, filepath.Join(t.TempDir(), "notify"))
	if err := Extend(90*time.Second, "half"); err != nil {
		t.Fatal(err)
	}
	if text, _ := read(t, c); text != "EXTEND_TIMEOUT_USEC=90000000\nSTATUS=half" {
		t.Errorf("the message is %q", text)
	}
	if err := Stopping("turning off"); err != nil {
		t.Fatal(err)
	}
	if text, _ := read(t, c); text != "STOPPING=1\nSTATUS=turning off" {
		t.Errorf("the message is %q", text)
	}
}

// Without a manager nothing is said; a manager that cannot be reached is an error that names the
// variable.
func TestNoManager(t *testing.T) {
	t.Setenv(Variable, "")
	if err := Ready(1, "on"); err != nil || Wanted() {
		t.Error(err, Wanted())
	}
	for _, name := range []string{filepath.Join(t.TempDir(), "absent"), "vsock:2:1234"} {
		t.Setenv(Variable, name)
		if err := Ready(1, "on"); err == nil || !strings.Contains(err.Error(), Variable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
