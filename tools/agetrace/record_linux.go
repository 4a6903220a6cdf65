// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// tracing is where the kernel has its trace, and instance the part that is this program's.
	tracing  = "/sys/kernel/tracing"
	instance = tracing + "/instances/agetrace"
	// bufferKiB is room for what the kernel notes while this program waits for a processor.
	bufferKiB = "16384"
	minorBits = 20 // of the kernel's own numbers of devices
	// pause is from one look into the kernel's buffer to the next.
	pause = 100 * time.Millisecond
)

// record writes what becomes of the pages of a device until ctx is done.
func record(ctx context.Context, device string, w *writer) (err error) {
	number, err := deviceNumber(device)
	if err != nil {
		return err
	}
	if err := os.Mkdir(instance, 0o700); err != nil {
		return fmt.Errorf("is tracefs mounted at %s? %w", tracing, err)
	}
	defer func() { err = errors.Join(err, os.Remove(instance)) }()
	event := "events/block/block_bio_queue/"
	for _, set := range [][2]string{{"buffer_size_kb", bufferKiB}, {"trace_clock", "mono"},
		{event + "filter", "dev == " + strconv.FormatUint(number, 10)}, {event + "enable", "1"}} {
		if err := os.WriteFile(filepath.Join(instance, set[0]), []byte(set[1]), 0); err != nil {
			return err
		}
	}
	pipe, err := openPipe(ctx)
	if err != nil {
		return err
	}
	err = copyRequests(pipe, w)
	return errors.Join(err, unix.Close(pipe.fd), lost())
}

// A tracePipe reads the kernel's notes until its context is done. It asks for them now and then:
// the kernel would have a reader that waits sleep until half of the buffer is full.
type tracePipe struct {
	ctx context.Context
	fd  int
}

// openPipe opens the pipe of this program's part of the trace.
func openPipe(ctx context.Context) (*tracePipe, error) {
	const path = instance + "/trace_pipe"
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &tracePipe{ctx: ctx, fd: fd}, nil
}

// Read reads what the kernel has noted.
func (p *tracePipe) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(p.fd, b)
		if n > 0 {
			return n, nil
		}
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return 0, os.NewSyscallError("read", err)
		}
		select {
		case <-p.ctx.Done():
			return 0, io.EOF
		case <-time.After(pause):
		}
	}
}

// copyRequests writes each request that a trace has, to its end.
func copyRequests(from io.Reader, w *writer) error {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if r, ok := parse(lines.Text()); ok {
			if err := w.add(r); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// deviceNumber is the number by which the tracepoint knows a device.
func deviceNumber(name string) (number uint64, err error) {
	path := filepath.Join("/dev", filepath.Base(name))
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFBLK {
		return 0, fmt.Errorf("%s is no block device", path)
	}
	return uint64(unix.Major(stat.Rdev))<<minorBits | uint64(unix.Minor(stat.Rdev)), nil
}

// lost is an error where the kernel had no room for some requests.
func lost() error {
	paths, err := filepath.Glob(instance + "/per_cpu/cpu*/stats")
	if err != nil {
		return err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if n, ok := strings.CutPrefix(strings.TrimSpace(line), "overrun: "); ok && n != "0" {
				return fmt.Errorf("the kernel had no room for %s requests", n)
			}
		}
	}
	return nil
}
