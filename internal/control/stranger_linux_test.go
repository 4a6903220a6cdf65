// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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
		abstractName(socketName(dir, 0)): func() error {
			_, err := OpenImage(dir)
			return err
		},
		abstractName(importName(dir, testConnection)): func() error {
			_, err := OpenImport(dir, testConnection, 0)
			return err
		},
	} {
		end := beStranger(t, at)
		if err := ask(); !errors.Is(err, errStranger) {
			t.Errorf("%s: %v, want errStranger", at, err)
		}
		end()
	}
}

// Other users have taken names like that of a socket. The socket has one that they cannot guess,
// and a command finds it among theirs.
func TestNamesOfStrangers(t *testing.T) {
	require.Root(t)
	name := socketName(t.TempDir(), 0)
	nowhere := []string{filepath.Join(os.DevNull, "control")}
	for _, secret := range []string{"", "AAAAAAAAAAAAAAAAAAAAAAAAAA", "ZZZZZZZZZZZZZZZZZZZZZZZZZZ"} {
		defer beStranger(t, abstractName(name)+secret)()
	}
	s, unguarded, err := listenAt(nowhere, name)
	if err != nil || unguarded == nil {
		t.Fatal(err, unguarded)
	}
	reach(t, nowhere, name, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Strangers who connect and say nothing keep no place from the commands of others, and are refused.
func TestStrangersKeepNoPlace(t *testing.T) {
	require.Root(t)
	name := socketName(t.TempDir(), 0)
	s, _, err := listenAt([]string{filepath.Join(os.DevNull, "control")}, name)
	if err != nil {
		t.Fatal(err)
	}
	attended := make(chan struct{}, 1)
	go serve(s, refuse, func(*net.UnixConn) { attended <- struct{}{} })
	stranger := exec.Command("/proc/self/exe", "flood", s.Addr().String(), fmt.Sprint(4*maxConnections))
	output, err := stranger.CombinedOutput() // it ends once all its connections were refused
	if err != nil {
		t.Errorf("%v: %s", err, output)
	}
	if len(attended) != 0 {
		t.Error("a stranger was attended")
	}
	c, err := dial(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	<-attended
	if err := errors.Join(c.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

// beStranger has another user listen at an abstract address until end is called.
func beStranger(t *testing.T, at string) (end func()) {
	t.Helper()
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
	return func() {
		if err := errors.Join(input.Close(), stranger.Wait()); err != nil {
			t.Error(err)
		}
	}
}

// childFlood opens connections as another user, says nothing, and ends once each was refused.
func childFlood() error {
	if err := syscall.Setuid(65534); err != nil {
		return err
	}
	n, err := strconv.Atoi(os.Args[3])
	if err != nil {
		return err
	}
	var all []*net.UnixConn
	for range n {
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: os.Args[2]})
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	for _, c := range all {
		text, err := io.ReadAll(c)
		if err != nil || !strings.Contains(string(text), "permission denied") {
			return fmt.Errorf("answered %q, %v", text, err)
		}
	}
	return nil
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
