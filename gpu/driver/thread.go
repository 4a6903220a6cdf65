// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"math"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// A Pointer is an address in the device's memory, or the device's address of host memory.
type Pointer uint64

// A Host is host memory that is locked and registered with the device.
type Host struct {
	bytes   []byte
	address uint64  // of the first byte, for libcuda
	device  Pointer // the same byte for kernels
}

// Bytes returns the memory, which must not be used after it was freed or unregistered.
func (h Host) Bytes() []byte { return h.bytes }

// Device returns the address under which kernels access the memory.
func (h Host) Device() Pointer { return h.device }

// Slice returns n bytes from off on. Like a slice of Go it panics beyond the end.
func (h Host) Slice(off, n int) Host {
	return Host{h.bytes[off : off+n : off+n], h.address + uint64(off), h.device + Pointer(off)}
}

// A Thread makes calls, within the Do that it was given to. All of its methods return an *Error if
// CUDA refuses.
type Thread struct {
	context *Context
	calls   calls
	kernels map[*ptx.Kernel]*loaded // loaded ones
}

// run runs the function of a Do, unless the context has died since.
func (t *Thread) run(f func(*Thread) error) error {
	if err := t.context.Err(); err != nil {
		return err
	}
	return f(t)
}

// MemoryInfo returns the free and the total bytes of the device.
func (t *Thread) MemoryInfo() (free, total int64, err error) {
	free, total, err = t.calls.memoryInfo()
	return free, total, t.context.check(err)
}

// Alloc allocates device memory with undefined contents. The name is for a simulator's faults.
func (t *Thread) Alloc(name string, n int) (Pointer, error) {
	if n <= 0 {
		return 0, fmt.Errorf("%w: allocate %d bytes for %s", ErrArgument, n, name)
	}
	p, err := t.calls.alloc(name, n)
	return p, t.context.check(err)
}

// Free frees what Alloc returned.
func (t *Thread) Free(p Pointer) error { return t.context.check(t.calls.free(p)) }

// AllocHost allocates locked host memory.
func (t *Thread) AllocHost(n int) (Host, error) {
	if n <= 0 {
		return Host{}, fmt.Errorf("%w: allocate %d bytes of host memory", ErrArgument, n)
	}
	h, err := t.calls.allocHost(n)
	return h, t.context.check(err)
}

// FreeHost frees what AllocHost returned.
func (t *Thread) FreeHost(h Host) error { return t.context.check(t.calls.freeHost(h)) }

// RegisterHost locks memory of the program and registers it with the device. With readOnly the
// device writes nothing there, and the program may map it read-only, if the device supports that.
// The memory must be a mapping of the program's own, not of Go's heap, and stay mapped until it is
// unregistered; if the program discards pages of it, the device keeps the old ones.
func (t *Thread) RegisterHost(b []byte, readOnly bool) (Host, error) {
	if len(b) == 0 {
		return Host{}, fmt.Errorf("%w: register no memory", ErrArgument)
	}
	h, err := t.calls.register(b, readOnly && t.context.device.ReadOnlyHost)
	return h, t.context.check(err)
}

// UnregisterHost undoes RegisterHost.
func (t *Thread) UnregisterHost(h Host) error { return t.context.check(t.calls.unregister(h)) }

// CopyIn copies all of src to the device, some time after the call. Once the device is dead it does
// nothing, like CopyOut: Do has returned and its caller may have unmapped the memory.
func (t *Thread) CopyIn(s Stream, dst Pointer, src Host) error {
	if err := t.context.Err(); err != nil || len(src.bytes) == 0 {
		return err
	}
	return t.context.check(t.calls.copyIn(s.handle, dst, src))
}

// CopyOut copies from the device to all of dst, some time after the call.
func (t *Thread) CopyOut(s Stream, dst Host, src Pointer) error {
	if err := t.context.Err(); err != nil || len(dst.bytes) == 0 {
		return err
	}
	return t.context.check(t.calls.copyOut(s.handle, dst, src))
}

// Fill sets n bytes of the device to v, some time after the call.
func (t *Thread) Fill(s Stream, dst Pointer, v byte, n int) error {
	if n < 0 {
		return fmt.Errorf("%w: fill %d bytes", ErrArgument, n)
	}
	if n == 0 {
		return nil
	}
	return t.context.check(t.calls.fill(s.handle, dst, v, n))
}

// KernelInfo is the driver's account of a kernel.
type KernelInfo struct {
	Registers int // a thread
	Local     int // bytes of memory a thread, for spilled registers
	Shared    int // bytes a block
	Log       string
}

// loaded is a translated kernel.
type loaded struct {
	module, function uint64
	info             KernelInfo
	params           []ptx.Param
}

// Load has a kernel translated, unless it is already. Launch does so by itself.
func (t *Thread) Load(k *ptx.Kernel) (KernelInfo, error) {
	l, err := t.loaded(k)
	if err != nil {
		return KernelInfo{}, err
	}
	return l.info, nil
}

func (t *Thread) loaded(k *ptx.Kernel) (*loaded, error) {
	if l := t.kernels[k]; l != nil {
		return l, nil
	}
	if p := t.context.device; k.SharedBytes() > p.SharedPerBlock || k.Threads() > p.ThreadsPerBlock {
		return nil, fmt.Errorf("%w: kernel %s wants %d threads and %d bytes of shared memory a block, %s has %d and %d",
			ErrArgument, k.Name(), k.Threads(), k.SharedBytes(), p.Name, p.ThreadsPerBlock, p.SharedPerBlock)
	}
	module, function, info, err := t.calls.load(k)
	if err != nil {
		return nil, t.context.check(err)
	}
	l := &loaded{module, function, info, k.Params()}
	t.kernels[k] = l
	return l, nil
}

// unloadAll unloads the kernels, and continues after errors.
func (t *Thread) unloadAll() error {
	var errs []error
	for k, l := range t.kernels {
		errs = append(errs, t.context.check(t.calls.unload(l.module)))
		delete(t.kernels, k)
	}
	return errors.Join(errs...)
}

// Launch runs grid blocks of a kernel, some time after the call. The arguments are the kernel's
// parameters in order.
func (t *Thread) Launch(s Stream, k *ptx.Kernel, grid int, args ...uint64) error {
	l, err := t.loaded(k)
	if err != nil {
		return err
	}
	if grid <= 0 || grid > math.MaxInt32 {
		return fmt.Errorf("%w: kernel %s: %d blocks", ErrArgument, k.Name(), grid)
	}
	if len(args) != len(l.params) {
		return fmt.Errorf("%w: kernel %s: %d arguments, want %d", ErrArgument, k.Name(), len(args), len(l.params))
	}
	for i, p := range l.params {
		if p.Type.Bits() == 32 && args[i]>>32 != 0 {
			return fmt.Errorf("%w: kernel %s: argument %s is %#x, which has more than 32 bits", ErrArgument, k.Name(), p.Name, args[i])
		}
	}
	return t.context.check(t.calls.launch(s.handle, l.function, k, grid, args))
}
