// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ServerName is the name that ps and /proc/PID/comm show of a serving process.
const ServerName = "zramfsd"

// DataFile is the path of a device's data file below its mount point.
const DataFile = "dev/zram0"

// The first byte of an announcement.
const (
	announceReady = 'R'
	announceError = 'E'
)

// Report describes a device that can be opened.
type Report struct {
	// PID is the serving process.
	PID int `json:"pid"`
	// Dir is the mount point.
	Dir string `json:"dir"`
	// Disksize is the size of the device in bytes.
	Disksize uint64 `json:"disksize"`
	// Protections are the measures that were taken, and their outcomes.
	Protections []Protection `json:"protections"`
}

// StartError is the reason that a serving process gives for not becoming ready.
type StartError struct {
	// Message is one line for the user.
	Message string `json:"message"`
	// Code is the exit code that the command should end with.
	Code int `json:"code"`

	// Cause is not passed on to other processes.
	Cause error `json:"-"`
}

// Error implements error.
func (e *StartError) Error() string { return e.Message }

// Unwrap returns the cause; nil where that happened in another process.
func (e *StartError) Unwrap() error { return e.Cause }

// ErrNoAnnouncement is returned when the serving process ended without an announcement.
var ErrNoAnnouncement = errors.New("the serving process ended before it was ready")

// WriteReady announces r: one byte, then JSON, in one write.
func WriteReady(w io.Writer, r *Report) error {
	return announce(w, announceReady, r)
}

// WriteFailure announces that there will be no device.
func WriteFailure(w io.Writer, e *StartError) error {
	return announce(w, announceError, e)
}

func announce(w io.Writer, kind byte, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encode announcement: %w", err)
	}
	if _, err := w.Write(append([]byte{kind}, text...)); err != nil {
		return fmt.Errorf("write announcement: %w", err)
	}
	return nil
}

// ReadAnnouncement reads until the writer closes its end. It returns a *StartError for an announced
// failure and wraps ErrNoAnnouncement when there was nothing to read.
func ReadAnnouncement(r io.Reader) (*Report, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read announcement: %w", err)
	}
	if len(text) == 0 {
		return nil, ErrNoAnnouncement
	}
	kind, content := text[0], bytes.NewReader(text[1:])
	switch kind {
	case announceReady:
		var report Report
		if err := json.NewDecoder(content).Decode(&report); err != nil {
			return nil, fmt.Errorf("decode announcement: %w", err)
		}
		return &report, nil
	case announceError:
		var failure StartError
		if err := json.NewDecoder(content).Decode(&failure); err != nil {
			return nil, fmt.Errorf("decode announcement: %w", err)
		}
		return nil, &failure
	}
	return nil, fmt.Errorf("decode announcement: unexpected first byte %#x", kind)
}
