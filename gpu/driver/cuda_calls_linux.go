// SPDX-License-Identifier: Apache-2.0

//go:build cuda && (amd64 || arm64)

package driver

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// Offsets in the block of a context's calls.
const (
	valuesAt   = 512  // the arguments of a kernel, 8 bytes each
	pointersAt = 2048 // their addresses
	mostParams = (pointersAt - valuesAt) / 8
	optionsAt  = 4096 // of a translation, 4 bytes each
	settingsAt = 4160 // their values, 8 bytes each
	infoAt     = 8192
	errorAt    = infoAt + logLength
	logLength  = 16384
	callBlock  = errorAt + logLength
)

// cudaCalls are a context's calls, for the thread on which it is current.
type cudaCalls struct {
	*libcuda
	block     block
	abandoned atomic.Bool // the context is dead
}

var (
	_ calls   = (*cudaCalls)(nil)
	_ library = (*libcuda)(nil)
)

func (c *cudaCalls) abandon() { c.abandoned.Store(true) }

// The operating system reports a failed munmap; nothing more can be done here.
func (c *cudaCalls) detach() {
	c.forgetRegistered()
	_ = c.block.free()
}

// handle calls a function that stores an address or a handle at its first argument.
func (c *cudaCalls) handle(f function, args ...uintptr) (uint64, error) {
	err := c.call(f, append([]uintptr{c.block.clear(answerAt)}, args...)...)
	return c.block.get(answerAt), err
}

func (c *cudaCalls) memoryInfo() (free, total int64, err error) {
	err = c.call(cuMemGetInfo, c.block.clear(answerAt), c.block.clear(secondAt))
	return int64(c.block.get(answerAt)), int64(c.block.get(secondAt)), err
}

func (c *cudaCalls) alloc(_ string, n int) (Pointer, error) {
	p, err := c.handle(cuMemAlloc, uintptr(n))
	return Pointer(p), err
}

func (c *cudaCalls) free(p Pointer) error { return c.call(cuMemFree, uintptr(p)) }

func (c *cudaCalls) allocHost(n int) (Host, error) {
	p, err := c.handle(cuMemHostAlloc, uintptr(n), hostPortable|hostDeviceMap)
	if err != nil {
		return Host{}, err
	}
	h := Host{bytes: c.block.pointed(answerAt, n), address: p}
	if h.device, err = c.mapped(p); err != nil {
		return Host{}, errors.Join(err, c.freeHost(h))
	}
	return h, nil
}

func (c *cudaCalls) freeHost(h Host) error { return c.call(cuMemFreeHost, uintptr(h.address)) }

// mapped returns the address of host memory for kernels.
func (c *cudaCalls) mapped(address uint64) (Pointer, error) {
	p, err := c.handle(cuMemHostGetDevicePointer, uintptr(address), 0)
	return Pointer(p), err
}

func (c *cudaCalls) newStream() (uint64, error) { return c.handle(cuStreamCreate, streamNonBlocking) }
func (c *cudaCalls) closeStream(s uint64) error { return c.call(cuStreamDestroy, uintptr(s)) }
func (c *cudaCalls) newEvent() (uint64, error)  { return c.handle(cuEventCreate, eventBlockingSync) }
func (c *cudaCalls) closeEvent(e uint64) error  { return c.call(cuEventDestroy, uintptr(e)) }
func (c *cudaCalls) record(e, s uint64) error   { return c.call(cuEventRecord, uintptr(e), uintptr(s)) }
func (c *cudaCalls) await(s, e uint64) error {
	return c.call(cuStreamWaitEvent, uintptr(s), uintptr(e), 0)
}

func (c *cudaCalls) elapsed(from, to uint64) (time.Duration, error) {
	err := c.call(cuEventElapsedTime, c.block.clear(answerAt), uintptr(from), uintptr(to))
	milliseconds := math.Float32frombits(c.block.get32(answerAt))
	return time.Duration(float64(milliseconds) * float64(time.Millisecond)), err
}

func (c *cudaCalls) copyIn(s uint64, dst Pointer, src Host) error {
	return c.call(cuMemcpyHtoDAsync, uintptr(dst), uintptr(src.address), uintptr(len(src.bytes)), uintptr(s))
}

func (c *cudaCalls) copyOut(s uint64, dst Host, src Pointer) error {
	return c.call(cuMemcpyDtoHAsync, uintptr(dst.address), uintptr(src), uintptr(len(dst.bytes)), uintptr(s))
}

func (c *cudaCalls) fill(s uint64, dst Pointer, v byte, n int) error {
	return c.call(cuMemsetD8Async, uintptr(dst), uintptr(v), uintptr(n), uintptr(s))
}

func (c *cudaCalls) load(k *ptx.Kernel) (module, function uint64, info KernelInfo, err error) {
	text := k.PTX()
	image, err := newBlock(len(text) + 1)
	if err != nil {
		return 0, 0, info, err
	}
	copy(image.bytes, text)
	module, err = c.translate(image)
	info.Log = c.block.text(infoAt, logLength)
	if err := errors.Join(err, image.free()); err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Cause = newKernelError(k.Name(), text, c.block.text(errorAt, logLength))
		}
		return 0, 0, info, err
	}
	if function, err = c.find(module, k.Name()); err == nil {
		err = c.describe(function, &info)
	}
	if err != nil {
		return 0, 0, info, errors.Join(err, c.unload(module))
	}
	return module, function, info, nil
}

// translate loads the text of a module; the logs go to the block.
func (c *cudaCalls) translate(image block) (uint64, error) {
	b := c.block
	clear(b.bytes[infoAt:])
	options := []struct {
		name  uint32
		value uint64
	}{
		{jitInfoLog, uint64(b.at(infoAt))}, {jitInfoLogSize, logLength},
		{jitErrorLog, uint64(b.at(errorAt))}, {jitErrorLogSize, logLength},
	}
	for i, o := range options {
		b.set32(optionsAt+4*i, o.name)
		b.set(settingsAt+8*i, o.value)
	}
	return c.handle(cuModuleLoadDataEx, image.base, uintptr(len(options)), b.at(optionsAt), b.at(settingsAt))
}

// find looks a kernel up in its module.
func (c *cudaCalls) find(module uint64, name string) (uint64, error) {
	n := copy(c.block.bytes[infoAt:errorAt-1], name)
	c.block.bytes[infoAt+n] = 0
	return c.handle(cuModuleGetFunction, uintptr(module), c.block.at(infoAt))
}

func (c *cudaCalls) describe(function uint64, info *KernelInfo) error {
	for _, a := range []struct {
		to        *int
		attribute uintptr
	}{{&info.Shared, functionAttributeShared}, {&info.Local, functionAttributeLocal}, {&info.Registers, functionAttributeRegisters}} {
		v, err := c.handle(cuFuncGetAttribute, a.attribute, uintptr(function))
		if err != nil {
			return err
		}
		*a.to = int(int32(v))
	}
	return nil
}

func (c *cudaCalls) unload(module uint64) error { return c.call(cuModuleUnload, uintptr(module)) }

func (c *cudaCalls) launch(s, function uint64, k *ptx.Kernel, grid int, args []uint64) error {
	if len(args) > mostParams {
		return fmt.Errorf("%w: kernel %s: %d arguments, at most %d are possible", ErrArgument, k.Name(), len(args), mostParams)
	}
	// A parameter of 32 bits is the first half of its 8 bytes: both processors that this is built
	// for are little-endian.
	for i, a := range args {
		c.block.set(valuesAt+8*i, a)
		c.block.set(pointersAt+8*i, uint64(c.block.at(valuesAt+8*i)))
	}
	return c.call(cuLaunchKernel, uintptr(function), uintptr(grid), 1, 1, uintptr(k.Threads()), 1, 1, 0, uintptr(s), c.block.at(pointersAt), 0)
}
