// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// logLines is the number of lines of the kernel's log that the bundle has at most.
	logLines = 500
	// logBytes bounds what is read of the log, in bytes.
	logBytes = 64 << 20
	// logPause is how long the next record may take; after the last one none comes.
	logPause = 50 * time.Millisecond
)

var (
	// ofInterest matches messages that the bundle takes.
	ofInterest = regexp.MustCompile(`(?i)zramfs|\bloop[0-9]*\b|\boom\b|\boom[-_]|out of memory`)
	// ourMessage matches the messages that processes of zramfs write.
	ourMessage = regexp.MustCompile(`^zramfs\b`)
)

// kernelLog reads /dev/kmsg, a record at each read (Documentation/ABI/testing/dev-kmsg of the
// kernel), without waiting for new ones.
func (c *collector) kernelLog(context.Context) ([]byte, error) {
	f, err := os.OpenFile(c.Machine.Path("dev/kmsg"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	text, err := readRecords(f)
	return keepOfInterest(text), errors.Join(err, f.Close())
}

// readRecords returns the records that are there.
func readRecords(f *os.File) ([]byte, error) {
	var text bytes.Buffer
	for record := make([]byte, 64<<10); text.Len() < logBytes; {
		_ = f.SetReadDeadline(time.Now().Add(logPause)) // a regular file has none, and an end
		n, err := f.Read(record)
		text.Write(record[:n])
		switch {
		case errors.Is(err, syscall.EPIPE): // records were overwritten before they could be read
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.EAGAIN):
			return text.Bytes(), nil
		case err != nil:
			return text.Bytes(), err
		}
	}
	return text.Bytes(), nil
}

// keepOfInterest returns the last messages of interest, each with its time in seconds after boot. A
// process can write to the log too; of such messages only ours are taken.
func keepOfInterest(text []byte) []byte {
	var lines []string
	for line := range strings.Lines(string(text)) {
		head, message, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ";")
		fields := strings.Split(head, ",")
		if !ok || len(fields) < 3 { // a line of the record's dictionary
			continue
		}
		priority, err := strconv.Atoi(fields[0])
		microseconds, err2 := strconv.ParseUint(fields[2], 10, 64)
		if err != nil || err2 != nil || !ofInterest.MatchString(message) || priority>>3 != 0 && !ourMessage.MatchString(message) {
			continue
		}
		lines = append(lines, fmt.Sprintf("[%5d.%06d] %s\n", microseconds/1e6, microseconds%1e6, message))
	}
	return []byte(strings.Join(lines[max(0, len(lines)-logLines):], ""))
}
