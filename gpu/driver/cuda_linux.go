// SPDX-License-Identifier: Apache-2.0

//go:build cuda && (amd64 || arm64)

package driver

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ebitengine/purego"
)

// libraryNames are the names under which libcuda is found: by the loader, and in WSL.
var libraryNames = []string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}

// Offsets in the block of a library.
const (
	answerAt   = 0
	secondAt   = 8 // the second of two results
	nameAt     = 64
	nameLength = 256
	wholeAt    = nameAt + nameLength // the second of two UUIDs
	uuidLength = 16
	smallBlock = 4096
)

// libcuda is the library. It is never unloaded, because it has threads of its own.
type libcuda struct {
	functions [functionCount]uintptr // immutable

	mu      sync.Mutex // guards answers
	answers block

	namesMu sync.Mutex // guards names
	names   block

	registeredMu sync.Mutex // guards registered; held while registrations change
	registered   map[uint64]*registration
}

// CUDA loads libcuda and lists its devices. The error wraps ErrNoLibrary, ErrNoDevice,
// ErrDriverTooOld or the library's own.
func CUDA() (*Driver, error) {
	lib, err := loadLibcuda()
	if err != nil {
		return nil, err
	}
	return newDriver(lib)
}

func loadLibcuda() (*libcuda, error) {
	handle, err := openLibcuda()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLibrary, err)
	}
	l := &libcuda{registered: map[uint64]*registration{}}
	for f, names := range functionNames {
		var missing error
		for _, symbol := range names[1:] {
			if l.functions[f], missing = purego.Dlsym(handle, symbol); missing == nil {
				break
			}
		}
		if missing != nil {
			return nil, fmt.Errorf("%w; it lacks %s: %w", ErrDriverTooOld, names[1], missing)
		}
	}
	if l.answers, err = newBlock(smallBlock); err != nil {
		return nil, err
	}
	if l.names, err = newBlock(smallBlock); err != nil {
		return nil, errors.Join(err, l.answers.free())
	}
	return l, nil
}

func openLibcuda() (uintptr, error) {
	var errs []error
	for _, name := range libraryNames {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return handle, nil
		}
		errs = append(errs, err)
	}
	return 0, errors.Join(errs...)
}

// call calls a function. All arguments are numbers or addresses outside Go's heap.
func (l *libcuda) call(f function, args ...uintptr) error {
	// CUresult has 32 bits; the rest of the register is undefined.
	r, _, _ := purego.SyscallN(l.functions[f], args...)
	if code := Code(uint32(r)); code != 0 {
		return l.failed(f, code)
	}
	return nil
}

// failed returns the error of a call, with libcuda's name for unknown codes.
func (l *libcuda) failed(f function, code Code) error {
	e := newError(functionNames[f][0], code, nil)
	if codeNames[code] != "" {
		return e
	}
	l.namesMu.Lock()
	defer l.namesMu.Unlock()
	slot := l.names.clear(answerAt)
	if r, _, _ := purego.SyscallN(l.functions[cuGetErrorName], uintptr(code), slot); uint32(r) == 0 {
		e.Name = l.names.pointedText(answerAt, nameLength)
	}
	return e
}

func (l *libcuda) start() error { return l.call(cuInit, 0) }

// ask calls a function that stores a number of 32 bits at its first argument.
func (l *libcuda) ask(f function, args ...uintptr) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.call(f, append([]uintptr{l.answers.clear(answerAt)}, args...)...); err != nil {
		return 0, err
	}
	return int(int32(l.answers.get32(answerAt))), nil
}

func (l *libcuda) version() (int, error) { return l.ask(cuDriverGetVersion) }
func (l *libcuda) devices() (int, error) { return l.ask(cuDeviceGetCount) }

func (l *libcuda) properties(ordinal int) (Properties, error) {
	p := Properties{Ordinal: ordinal}
	device, err := l.ask(cuDeviceGet, uintptr(ordinal))
	if err != nil {
		return p, err
	}
	d := uintptr(device)
	var canMap, readOnly int
	for _, a := range []struct {
		to        *int
		attribute uintptr
	}{
		{&p.Major, attributeMajor}, {&p.Minor, attributeMinor}, {&p.Multiprocessors, attributeMultiprocessors},
		{&p.ClockKHz, attributeClockRate}, {&p.L2, attributeL2}, {&p.SharedPerBlock, attributeSharedPerBlock},
		{&p.ThreadsPerBlock, attributeThreadsPerBlock}, {&p.Copiers, attributeAsyncEngines},
		{&canMap, attributeCanMapHost}, {&readOnly, attributeReadOnlyRegister},
	} {
		if *a.to, err = l.ask(cuDeviceGetAttribute, a.attribute, d); err != nil {
			return p, fmt.Errorf("attribute %d: %w", a.attribute, err)
		}
	}
	p.MapsHost, p.ReadOnlyHost = canMap != 0, readOnly != 0
	return p, l.identify(&p, d)
}

// identify adds the properties that are not attributes.
func (l *libcuda) identify(p *Properties, device uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.answers
	if err := l.call(cuDeviceGetName, a.clear(nameAt), nameLength, device); err != nil {
		return err
	}
	p.Name = a.text(nameAt, nameLength)
	if err := l.call(cuDeviceGetPCIBusID, a.clear(nameAt), nameLength, device); err != nil {
		return err
	}
	p.PCI = strings.ToLower(a.text(nameAt, nameLength)) // as in sysfs
	if err := l.call(cuDeviceGetUuid, a.clear(nameAt), device); err != nil {
		return err
	}
	if err := l.call(cuDeviceGetWholeUuid, a.clear(wholeAt), device); err != nil {
		return err
	}
	u, kind := a.bytes[nameAt:nameAt+uuidLength], "GPU"
	if !bytes.Equal(u, a.bytes[wholeAt:wholeAt+uuidLength]) {
		kind = "MIG"
	}
	p.UUID = fmt.Sprintf("%s-%x-%x-%x-%x-%x", kind, u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	if err := l.call(cuDeviceTotalMem, a.clear(answerAt), device); err != nil {
		return err
	}
	p.Memory = int64(a.get(answerAt))
	return nil
}

func (l *libcuda) retain(ordinal int) (uint64, error) {
	device, err := l.ask(cuDeviceGet, uintptr(ordinal))
	if err != nil {
		return 0, err
	}
	if err := l.call(cuDevicePrimaryCtxSetFlags, uintptr(device), ctxSchedBlockingSync); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.call(cuDevicePrimaryCtxRetain, l.answers.clear(answerAt), uintptr(device)); err != nil {
		return 0, err
	}
	return l.answers.get(answerAt), nil
}

func (l *libcuda) release(ordinal int) error {
	device, err := l.ask(cuDeviceGet, uintptr(ordinal))
	if err != nil {
		return err
	}
	return l.call(cuDevicePrimaryCtxRelease, uintptr(device))
}

func (l *libcuda) active(ordinal int) (bool, error) {
	device, err := l.ask(cuDeviceGet, uintptr(ordinal))
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	flags, active := l.answers.clear(answerAt), l.answers.clear(secondAt)
	if err := l.call(cuDevicePrimaryCtxGetState, uintptr(device), flags, active); err != nil {
		return false, err
	}
	return l.answers.get32(secondAt) != 0, nil
}

func (l *libcuda) attach(context uint64) (calls, error) {
	if err := l.call(cuCtxSetCurrent, uintptr(context)); err != nil {
		return nil, err
	}
	b, err := newBlock(callBlock)
	if err != nil {
		return nil, err
	}
	return &cudaCalls{libcuda: l, block: b}, nil
}

func (l *libcuda) wait(context, event uint64) error {
	if err := l.call(cuCtxSetCurrent, uintptr(context)); err != nil {
		return err
	}
	return l.call(cuEventSynchronize, uintptr(event))
}

func (l *libcuda) close() error { return errors.Join(l.answers.free(), l.names.free()) }
