// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// A command sends nothing to a process of another user that has taken the abstract name of a
// socket.
func TestStranger(t *testing.T) {
	require.Root(t)
	dir := t.TempDir()
	for at, ask := range map[string]func() error{
		abstractAddress(socketName(dir, 0)).Name: func() error {
			_, err := OpenImage(dir)
			return err
		},
		abstractAddress(importName(dir, testConnection)).Name: func() error {
			_, err := OpenImport(dir, testConnection, 0)
			return err
		},
	} {
		stranger := exec.Command("/proc/self/exe", "stranger", at)
		stranger.Stderr = os.Stderr
		input, err := stranger.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		ready, err := stranger.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := stranger.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := ready.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		if err := ask(); !errors.Is(err, errStranger) {
			t.Errorf("%s: %v, want errStranger", at, err)
		}
		if err := errors.Join(input.Close(), stranger.Wait()); err != nil {
			t.Error(err)
		}
	}
}

// childStranger listens as another user, closes each connection, and ends with its input.
func childStranger() error {
	if err := syscall.Setuid(65534); err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: os.Args[2]})
	if err != nil {
		return err
	}
	go func() {
		for c, err := l.AcceptUnix(); err == nil; c, err = l.AcceptUnix() {
			_ = c.Close()
		}
	}()
	fmt.Print(".")
	_, _ = os.Stdin.Read(make([]byte, 1)) // until it is closed
	return l.Close()
}
