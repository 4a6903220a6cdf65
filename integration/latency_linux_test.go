// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/pmqos"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
)

// processorsPoll reports whether a process holds a PM QoS request of zero: reading the file gives
// what the kernel keeps to.
func processorsPoll(t testing.TB) bool {
	t.Helper()
	f, err := os.Open(pmqos.Device)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var value [4]byte
	if _, err := f.Read(value[:]); err != nil {
		t.Fatal(err)
	}
	return value == [4]byte{}
}

// awaitPolling waits until processors poll, or until they may halt.
func awaitPolling(t testing.TB, want bool) {
	t.Helper()
	for end := time.Now().Add(answerTimeout); processorsPoll(t) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("processors poll: %v, want %v", !want, want)
		}
	}
}

// awaitHeld waits until a worker says that it holds its request, and processors poll. A measurement
// holds it too, for some milliseconds.
func awaitHeld(t testing.TB, dir string) status.Latency {
	t.Helper()
	for end := time.Now().Add(answerTimeout); ; time.Sleep(time.Millisecond) {
		if s := statusOf(t, dir).Latency; s.State == status.Held && processorsPoll(t) {
			return s
		} else if time.Now().After(end) {
			t.Fatalf("it is not held: %+v", s)
		}
	}
}

var readPagesClient = register("read pages", func(args []string) error { return readPages(args[0]) })

// readPages reads one page after the other, past the kernel's cache, until its input ends.
func readPages(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	page, err := unix.Mmap(-1, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	for at := int64(0); ; at = (at + pageSize) % crashBytes {
		select {
		case <-ended:
			return unix.Close(fd)
		default:
		}
		if n, err := unix.Pread(fd, page, at); n != pageSize {
			return fmt.Errorf("read at %d: %d bytes, %w", at, n, err)
		}
	}
}

// startReader starts such a process, and returns what ends it.
func startReader(t testing.TB, dir string) (end func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	cmd := clientCommand(ctx, readPagesClient, data(dir))
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		defer cancel()
		if err := errors.Join(input.Close(), cmd.Wait()); err != nil {
			t.Errorf("the reader: %v", err)
		}
	}
}

// TestProcessorsPollWhileRequestsCome: the worker holds its PM QoS request while single requests
// come, and lets go when they stop. Nothing of it is left after a worker was killed or replaced, or
// has ended with its device; the next worker takes it again.
func TestProcessorsPollWhileRequestsCome(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if err := pmqos.Available(host.Local); err != nil {
		t.Skip(err)
	}
	awaitPolling(t, false) // other tests' devices
	dir := mount(t, "--size", crashSize, "--latency", "low")
	end := startReader(t, dir)
	if s := awaitHeld(t, dir); s.Policy != string(pmqos.Low) || s.Holds == 0 || s.LoneRequests == 0 {
		t.Errorf("it says %+v", s)
	}
	end()
	awaitPolling(t, false)
	if s := statusOf(t, dir).Latency; s.State != status.Ready || s.HeldSeconds == 0 || s.WakeUpUs == 0 {
		t.Errorf("afterwards it says %+v", s)
	}

	end = startReader(t, dir)
	awaitHeld(t, dir)
	c := newCrashing(t, dir)
	c.kill()
	if s := awaitHeld(t, dir); s.Holds == 0 {
		t.Errorf("the next worker says %+v", s)
	}
	c.settled()
	mustRun(t, commandTimeout, "upgrade", dir)
	awaitHeld(t, dir)
	end()
	awaitPolling(t, false)

	end = startReader(t, dir)
	awaitHeld(t, dir)
	c.kill()
	end()
	takeDown(t, dir)
	awaitPolling(t, false)
}

// TestLatencyOff: with the policy off the worker leaves the processors alone.
func TestLatencyOff(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", crashSize, "--latency", "off")
	end := startReader(t, dir)
	time.Sleep(time.Second / 2)
	s := statusOf(t, dir).Latency
	end()
	if s.State != status.Off || s.Holds != 0 || s.LoneRequests == 0 {
		t.Errorf("it says %+v", s)
	}
	if r := run(t, commandTimeout, "mount", "--latency", "lower", tempDir(t)); r.Code != 2 ||
		!strings.Contains(r.Stderr, `latency "lower": use auto, low or off`) {
		t.Errorf("a wrong policy: exit code %d, %s", r.Code, r.Stderr)
	}
}
