// SPDX-License-Identifier: Apache-2.0

package simkernel

import (
	"slices"

	"golang.org/x/sys/unix"
)

// A Budget is the memory of the machine: files in memory take it, and a call may find none.
type Budget struct {
	// Left is how many bytes can be taken yet.
	Left int64
	// Scarce: one call of this number finds none although there is some; 0 for none.
	Scarce int
}

// denied reports whether the machine has no memory now.
func (b *Budget) denied(n int64) bool {
	return b.Left < n || b.Scarce > 0 && the.rng.IntN(b.Scarce) == 0
}

// Fallocate stands in for unix.Fallocate on files in memory, which takes real memory.
func Fallocate(fd int, mode uint32, off, n int64) error {
	if the == nil {
		return unix.Fallocate(fd, mode, off, n)
	}
	before := taken(fd)
	if mode&unix.FALLOC_FL_PUNCH_HOLE == 0 && the.Memory.denied(n) {
		return unix.ENOSPC
	}
	err := unix.Fallocate(fd, mode, off, n)
	the.Memory.Left -= taken(fd) - before
	return err
}

func taken(fd int) int64 {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0
	}
	return st.Blocks * 512
}

// Madvise stands in for unix.Madvise.
func Madvise(mem []byte, advice int) error {
	if the != nil && advice == unix.MADV_POPULATE_WRITE && the.Memory.Scarce > 0 && the.rng.IntN(the.Memory.Scarce) == 0 {
		return unix.ENOMEM
	}
	return unix.Madvise(mem, advice)
}

// Write stands in for unix.Write.
func Write(fd int, p []byte) (int, error) {
	if d := the.devices[fd]; d != nil {
		if errno := d.write(p); errno != 0 {
			return 0, errno
		}
		return len(p), nil
	}
	return unix.Write(fd, p)
}

// Receive stands in for fusefs's receive: read(2) on a device.
func Receive(device int, room []byte, _ bool) (int, unix.Errno) {
	return the.devices[device].read(room)
}

// Transmit stands in for fusefs's transmit: write(2) on a device.
func Transmit(device int, answer []byte) unix.Errno { return the.devices[device].write(answer) }

// Gettid stands in for unix.Gettid.
func Gettid() int { return the.running.number }

// Tgkill stands in for unix.Tgkill: the signal interrupts a read of the task.
func Tgkill(_, tid int, _ unix.Signal) error {
	the.interrupt(tid)
	return nil
}

// Mmap stands in for unix.Mmap. The kernel removes the mapping when the process has ended.
func Mmap(fd int, off int64, n, prot, flags int) ([]byte, error) {
	mem, err := unix.Mmap(fd, off, n, prot, flags)
	if err == nil && the != nil && the.running != nil {
		p := the.running.process
		p.mapped = append(p.mapped, mem)
	}
	return mem, err
}

// Munmap stands in for unix.Munmap.
func Munmap(mem []byte) error {
	if the != nil && the.running != nil {
		p := the.running.process
		p.mapped = slices.DeleteFunc(p.mapped, func(m []byte) bool { return &m[0] == &mem[0] })
	}
	return unix.Munmap(mem)
}
