// SPDX-License-Identifier: Apache-2.0

//go:build cuda && (amd64 || arm64)

package driver

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// childRegister registers memory for reading alone: some that the program writes to, though it has
// not yet, and some that it cannot write to.
func childRegister(*testing.T) error {
	d, c, err := childContext()
	if err != nil {
		return err
	}
	for _, protection := range []int{unix.PROT_READ | unix.PROT_WRITE, unix.PROT_READ} {
		b, mapErr := unix.Mmap(-1, 0, 4096, protection, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		err = errors.Join(err, mapErr, c.Do(func(t *Thread) error {
			h, err := t.RegisterHost(b, true)
			if err != nil {
				return err
			}
			_, again := t.RegisterHost(b, true)
			fmt.Println("again:", again)
			return t.UnregisterHost(h)
		}), unix.Munmap(b))
	}
	return errors.Join(err, d.Close())
}

// twoContexts calls f with two contexts of one device, as if they were two devices of a program,
// and memory for both to register.
func twoContexts(f func(one, two *Context, b []byte) error) error {
	d, one, err := childContext()
	if err != nil {
		return err
	}
	two, err := d.Open(0, Options{})
	if err != nil {
		return err
	}
	b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	return errors.Join(f(one, two, b), unix.Munmap(b), d.Close())
}

// register registers memory for a context.
func register(c *Context, b []byte, readOnly bool) (h Host, err error) {
	err = c.Do(func(t *Thread) (err error) {
		h, err = t.RegisterHost(b, readOnly)
		return err
	})
	return h, err
}

// unregister undoes that.
func unregister(c *Context, h Host) error {
	return c.Do(func(t *Thread) error { return t.UnregisterHost(h) })
}

// childShare registers the same memory in two contexts, and copies from there until the last one
// has left it.
func childShare(*testing.T) error {
	return twoContexts(func(one, two *Context, b []byte) error {
		first, err := register(one, b, false)
		second, err2 := register(two, b, true)
		return errors.Join(err, err2, unregister(one, first), two.Do(func(t *Thread) error {
			r, err := makeRoom(t, len(b))
			if err != nil {
				return err
			}
			err = errors.Join(t.CopyIn(r.stream, r.device, second), t.UnregisterHost(second))
			fmt.Println("then:", t.CopyIn(r.stream, r.device, second), t.UnregisterHost(second))
			return err
		}))
	})
}

// childStale lets one of two contexts that share memory die, and registers memory at the same place
// after the other one has left it.
func childStale(t *testing.T) error {
	return twoContexts(func(one, two *Context, b []byte) error {
		_, err := register(one, b, false)
		h, err2 := register(two, b, false)
		fmt.Println("launch:", one.Do(func(th *Thread) error {
			r, err := makeRoom(th, 64)
			if err != nil {
				return err
			}
			return r.trip(th, increment(t))
		}))
		err = errors.Join(err, err2, unregister(two, h))
		_, again := register(two, b, false)
		fmt.Println("again:", again)
		return errors.Join(err, one.Close())
	})
}

// childDrivers stops a context of a device on which another driver has one, and then that.
func childDrivers(*testing.T) error {
	d, one, err := childContext()
	if err != nil {
		return err
	}
	other, two, err := childContext()
	if err != nil {
		return err
	}
	fmt.Println("first:", one.Stop())
	fmt.Println("second:", two.Stop())
	return errors.Join(d.Close(), other.Close())
}

// Libcuda has one context a device for all users: while one driver uses it another cannot end it.
func TestDriversShareContexts(t *testing.T) {
	wantAnswer(t, child(t, "drivers", fakeLibcuda(t)), "first: GPU may still be at work: another context is open on it", "second: <nil>", "answer: all is well")
}

// Memory that the program may write to is registered for writing, whatever the device does there:
// see [cudaCalls.lock].
func TestRegisteredMemoryIsLockedForWriting(t *testing.T) {
	wantAnswer(t, child(t, "register", fakeLibcuda(t)), "answer: all is well", "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED (712)")
}

func TestContextsShareRegisteredMemory(t *testing.T) {
	wantAnswer(t, child(t, "share", fakeLibcuda(t)), "answer: all is well", "then: cuMemcpyHtoDAsync: CUDA_ERROR_INVALID_VALUE (1) "+
		"cuMemHostUnregister: CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED (713)")
}

// A dead context does not learn that its memory was unmapped, so a later mapping at the same place
// must not count as registered: the device would write to the old one.
func TestDeadContextKeepsNoMemoryForOthers(t *testing.T) {
	wantAnswer(t, child(t, "stale", fakeLibcuda(t), "FAKE_LAUNCH=700"), "launch: cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS (700)",
		"again: cuMemHostRegister: CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED (712)", "answer: all is well")
}
