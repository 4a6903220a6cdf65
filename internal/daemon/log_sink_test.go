// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// newJournal opens a journal on a socket like the journal's, and returns its other end too.
func newJournal(t *testing.T) (*journalSink, *net.UnixConn) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "socket")
	server, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() }) // it was only read from
	journal, err := openJournal(path, "/run/zram")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := journal.Close(); err != nil {
			t.Error(err)
		}
	})
	return journal, server
}

// TestJournalProtocol sends to a socket like the journal's and reads the datagram.
func TestJournalProtocol(t *testing.T) {
	journal, server := newJournal(t)
	if err := journal.write(slog.LevelWarn, []byte("one\nPRIORITY=0")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1024)
	n, err := server.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	// A line end in a value would begin a field of its own.
	const want = "PRIORITY=4\nSYSLOG_IDENTIFIER=zramfs\nZRAMFS_DIR=/run/zram\nMESSAGE=one PRIORITY=0\n"
	if got := string(buf[:n]); got != want {
		t.Errorf("datagram %q, want %q", got, want)
	}
}

// TestJournalDoesNotBlock fills the socket of a journal that reads nothing.
func TestJournalDoesNotBlock(t *testing.T) {
	journal, _ := newJournal(t)
	for range 1 << 20 {
		if err := journal.write(slog.LevelInfo, []byte("line")); err != nil {
			if !errors.Is(err, syscall.EAGAIN) {
				t.Errorf("error %v, want EAGAIN", err)
			}
			return
		}
	}
	t.Error("a million lines found room")
}

func TestKernelLogFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kmsg")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := openKernelLog(path)
	if err != nil {
		t.Fatal(err)
	}
	var want string
	for level, number := range map[slog.Level]int{slog.LevelError: 27, slog.LevelWarn: 28, slog.LevelInfo: 30, slog.LevelDebug: 31} {
		want += fmt.Sprintf("<%d>zramfs: a b\n", number)
		if err := k.write(level, []byte("a\nb")); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("wrote %q, %v; want %q", got, err, want)
	}
}

// Lines carry a time of their own where nothing else stamps them.
func TestStamps(t *testing.T) {
	for _, c := range []struct {
		s    sink
		want bool
	}{{&journalSink{}, true}, {&kernelSink{}, true}, {stderrSink{}, false}} {
		if got := c.s.stamped(); got != c.want {
			t.Errorf("%T stamps: %v", c.s, got)
		}
	}
}

func TestKernelLogThatTakesNothing(t *testing.T) {
	k, err := openKernelLog("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.write(slog.LevelInfo, []byte("a")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, want ENOSPC", err)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}
