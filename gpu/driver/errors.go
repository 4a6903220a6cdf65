// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of a machine without a usable GPU. Each message says what to do.
var (
	ErrNotBuilt  = errors.New("this program was built without CUDA; make build-cuda makes one that has it")
	ErrNoLibrary = errors.New("NVIDIA's driver library libcuda.so.1 was not found: install the driver, or, in a container, " +
		"grant it the driver capability compute (NVIDIA_DRIVER_CAPABILITIES=compute,utility)")
	ErrNoDevice = errors.New("NVIDIA's driver sees no GPU: none is there, none was given to this container, " +
		"or CUDA_VISIBLE_DEVICES hides it")
	ErrDriverTooOld = errors.New("NVIDIA's driver is too old: it must know CUDA 11.1, as release 455 and later do")
)

// Errors of a device.
var (
	// ErrDeviceTooOld reports a GPU of a compute capability below 7.0.
	ErrDeviceTooOld = errors.New("the GPU is too old: its compute capability must be 7.0 or more (Volta, of 2017)")
	// ErrDead reports a context that will not work again; the error also wraps the cause.
	ErrDead = errors.New("GPU context is dead")
	// ErrTimeout reports that a context is dead because the device did not answer.
	ErrTimeout = errors.New("GPU does not answer")
	// ErrBusy reports a device that may still access the program's memory although its context was
	// closed.
	ErrBusy = errors.New("GPU may still be at work")
	// ErrClosed reports a driver, context or pool that was closed.
	ErrClosed = errors.New("closed")
	// ErrArgument reports invalid arguments; nothing was called.
	ErrArgument = errors.New("unfit argument")
)

// An Error is a call that CUDA refused, or that returned an earlier error.
type Error struct {
	Call string // as in CUDA's manual, like cuMemAlloc
	Code Code
	Name string // of the code, like CUDA_ERROR_OUT_OF_MEMORY
	// Cause is a detail beyond the code, or nil: a simulator's fault, a translator's log.
	Cause error
}

// newError makes an Error with a code that this package knows by name.
func newError(call string, code Code, cause error) *Error {
	return &Error{Call: call, Code: code, Name: code.Error(), Cause: cause}
}

// Error returns CALL: NAME (NUMBER), and the cause.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s (%d)", e.Call, e.Name, uint32(e.Code))
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the code and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Cause}
}

// A KernelError is the driver's reason for refusing a kernel: the Cause of the Error of the call
// that loads it.
type KernelError struct {
	Kernel string
	Line   int    // of the PTX, from 1 on; 0 if the log names none
	Text   string // that line
	Log    string // the translator's log
}

// newKernelError parses the translator's log: the first "line N" is the fault's.
func newKernelError(kernel, ptx, log string) *KernelError {
	e := &KernelError{Kernel: kernel, Log: strings.TrimSpace(strings.TrimRight(log, "\x00"))}
	_, rest, found := strings.Cut(e.Log, "line ")
	if !found {
		return e
	}
	if _, err := fmt.Sscanf(rest, "%d", &e.Line); err != nil {
		return e
	}
	if lines := strings.Split(ptx, "\n"); e.Line >= 1 && e.Line <= len(lines) {
		e.Text = strings.TrimSpace(lines[e.Line-1])
	}
	return e
}

// Error returns the line and the first line of the log.
func (e *KernelError) Error() string {
	first, _, _ := strings.Cut(e.Log, "\n")
	if first == "" {
		first = "no word of why"
	}
	if e.Text == "" {
		return fmt.Sprintf("kernel %s: %s", e.Kernel, first)
	}
	return fmt.Sprintf("kernel %s, line %d, %q: %s", e.Kernel, e.Line, e.Text, first)
}
