// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/term"
)

// The exit codes, as the package comment explains them.
const (
	exitOK         = 0
	exitFailure    = 1
	exitUsage      = 2
	exitNotRunning = 3
	exitKubelet    = 4
	exitUnknown    = 2 // of status --quiet
)

// exitError is an error with an exit code. Without a cause it ends the program without a message:
// the command has said everything on standard output.
type exitError struct {
	code  int
	cause error
}

// Error implements error.
func (e *exitError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.cause.Error()
}

// Unwrap returns the cause, which may be nil.
func (e *exitError) Unwrap() error { return e.cause }

// usageError returns an error in the command line (exit code 2). The format is fmt.Errorf's, with
// %w.
func usageError(format string, args ...any) error {
	return &exitError{code: exitUsage, cause: fmt.Errorf(format, args...)}
}

// exitWith ends the program with code and no message; nil for 0.
func exitWith(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// describe returns the exit code of err and the line to print, if any.
func describe(err error) (code int, message string) {
	if err == nil {
		return exitOK, ""
	}
	var exit *exitError
	var start *status.StartError
	switch {
	case errors.As(err, &exit):
	case errors.As(err, &start): // the serving process has chosen the code
		return start.Code, errorLine(err)
	default:
		return exitFailure, errorLine(err)
	}
	if exit.cause == nil {
		return exit.code, ""
	}
	return exit.code, errorLine(err)
}

// errorLine is the text of an error, with the cure where rights were missing.
func errorLine(err error) string {
	text := term.OneLine(err.Error())
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 && !strings.Contains(text, "run as root") {
		text += ": run as root"
	}
	return text
}
