// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// journalSocket takes datagrams in the native protocol of the journal (systemd, "Native Journal
	// Protocol").
	journalSocket = "/run/systemd/journal/socket"
	kernelLog     = "/dev/kmsg"
	identifier    = "zramfs"
	// facilityDaemon is LOG_DAEMON of syslog(3), which the kernel log's <N> prefix carries above
	// the priority.
	facilityDaemon = 3 << 3
)

func openSink(foreground bool, dir string) sink {
	if foreground {
		return stderrSink{}
	}
	if s, err := openJournal(journalSocket, dir); err == nil {
		return s
	}
	if s, err := openKernelLog(kernelLog); err == nil {
		return s
	}
	return stderrSink{}
}

// journalSink sends one datagram a line. The socket does not block: a journal that has stopped
// reading, perhaps because it waits for a page of ours, costs a dropped line.
type journalSink struct {
	fd  int    // immutable until Close
	dir string // immutable; sent as the field ZRAMFS_DIR
}

func openJournal(socket, dir string) (*journalSink, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open journal: socket: %w", err)
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
		_ = unix.Close(fd) // the error that counts is that of connect
		return nil, fmt.Errorf("open journal: connect %s: %w", socket, err)
	}
	return &journalSink{fd: fd, dir: dir}, nil
}

func (j *journalSink) write(level slog.Level, text []byte) error {
	return writeLine(j.fd, j.datagram(level, text))
}

// writeLine writes a line in one piece, again when a signal interrupts it.
func writeLine(fd int, line []byte) error {
	for {
		if _, err := unix.Write(fd, line); err != unix.EINTR {
			return err
		}
	}
}

// datagram writes the fields as NAME=value lines, which must not have a line end in their values.
func (j *journalSink) datagram(level slog.Level, text []byte) []byte {
	var b bytes.Buffer
	field := func(name string, value []byte) {
		b.WriteString(name)
		b.WriteByte('=')
		b.Write(bytes.ReplaceAll(value, []byte("\n"), []byte(" ")))
		b.WriteByte('\n')
	}
	field("PRIORITY", strconv.AppendInt(nil, int64(priority(level)), 10))
	field("SYSLOG_IDENTIFIER", []byte(identifier))
	field("ZRAMFS_DIR", []byte(j.dir))
	field("MESSAGE", text)
	return b.Bytes()
}

func (j *journalSink) stamped() bool { return true }

func (j *journalSink) Close() error { return unix.Close(j.fd) }

// kernelSink writes records to the kernel log, which stamps them itself. The kernel drops records
// of a writer that sends many (printk.devkmsg=ratelimit, its default).
type kernelSink struct {
	fd int // immutable until Close
}

func openKernelLog(path string) (*kernelSink, error) {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &kernelSink{fd: fd}, nil
}

func (k *kernelSink) write(level slog.Level, text []byte) error {
	text = bytes.ReplaceAll(text, []byte("\n"), []byte(" "))
	return writeLine(k.fd, fmt.Appendf(nil, "<%d>%s: %s\n", facilityDaemon|priority(level), identifier, text))
}

func (k *kernelSink) stamped() bool { return true }

func (k *kernelSink) Close() error { return unix.Close(k.fd) }

// priority is the syslog(3) priority of a level.
func priority(level slog.Level) int {
	switch {
	case level >= slog.LevelError:
		return 3 // LOG_ERR
	case level >= slog.LevelWarn:
		return 4 // LOG_WARNING
	case level >= slog.LevelInfo:
		return 6 // LOG_INFO
	}
	return 7 // LOG_DEBUG
}
