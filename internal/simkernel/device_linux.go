// SPDX-License-Identifier: Apache-2.0

package simkernel

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// The part of the kernel's include/uapi/linux/fuse.h that the queue needs.
const (
	inHeader     = 40 // struct fuse_in_header
	outHeader    = 16 // struct fuse_out_header
	uniqueAt     = 8  // in both
	notifyResend = 7  // FUSE_NOTIFY_RESEND
	uniqueResend = 1 << 63
	uniqueStep   = 2 // FUSE_REQ_ID_STEP
)

// preempted bounds how long an answer's thread waits for the processor that it has lost by it.
const preempted = 5 * time.Millisecond

// A Device is the kernel's end of a FUSE connection, as fs/fuse/dev.c has it: requests wait in a
// queue until a task reads them, and in another until it answers. They survive a process as long as
// another one has the connection.
type Device struct {
	w          *World
	file       *os.File
	pending    []*Request // in the order in which they came
	processing []*Request // that were read, and not answered
	unique     uint64     // of the last request
	aborted    bool
	Resent     int // requests that were sent again
}

// A Request is one of the kernel's, and its answer.
type Request struct {
	message  []byte
	answered bool
	// Errno is that of the answer, 0 for none. Data is what follows its header, a copy.
	Errno unix.Errno
	Data  []byte
	// Began is when the request came, in the world's time.
	Began time.Duration
}

// OpenDevice stands in for opening /dev/fuse.
func OpenDevice() (*os.File, error) {
	f, err := os.OpenFile("/dev/null", os.O_RDWR, 0) // its descriptor is the device's name
	if err != nil {
		return nil, err
	}
	the.devices[int(f.Fd())] = &Device{w: the, file: f}
	return f, nil
}

// MakeMount stands in for the mount of a connection: the kernel begins to negotiate.
func MakeMount(device *os.File, _ string, _ int, _ bool) (*os.File, int, error) {
	d := the.devices[int(device.Fd())]
	d.Send(26, 0, initArgument()) // FUSE_INIT
	return nil, int(device.Fd()), nil
}

// initArgument is struct fuse_init_in of a kernel with all that fusefs asks for.
func initArgument() []byte {
	a := make([]byte, 64)
	for i, word := range []uint32{7, 45, 1 << 20, 0x73fffffb, 0x7fd} {
		binary.LittleEndian.PutUint32(a[4*i:], word)
	}
	return a
}

// Device returns the device of a descriptor.
func (w *World) Device(f *os.File) *Device { return w.devices[int(f.Fd())] }

// Send queues a request. The caller waits with Request.Answered.
func (d *Device) Send(op uint32, node uint64, argument []byte) *Request {
	d.unique += uniqueStep
	m := make([]byte, inHeader, inHeader+len(argument))
	m = append(m, argument...)
	binary.LittleEndian.PutUint32(m, uint32(len(m)))
	binary.LittleEndian.PutUint32(m[4:], op)
	binary.LittleEndian.PutUint64(m[uniqueAt:], d.unique)
	binary.LittleEndian.PutUint64(m[16:], node)
	r := &Request{message: m, Began: d.w.Elapsed()}
	d.pending = append(d.pending, r)
	return r
}

// Answered reports whether the request was answered.
func (r *Request) Answered() bool { return r.answered }

func (r *Request) unique() uint64 { return binary.LittleEndian.Uint64(r.message[uniqueAt:]) }

// read is read(2) on the device.
func (d *Device) read(p []byte) (int, unix.Errno) {
	t := d.w.running
	if d.w.rng.IntN(500) == 0 {
		return 0, unix.EINTR // the Go runtime's signal
	}
	t.reading, t.signal = true, false
	Until(func() bool { return t.signal || d.aborted || len(d.pending) > 0 })
	t.reading = false
	switch {
	case d.aborted:
		return 0, unix.ENODEV
	case t.signal || len(d.pending) == 0:
		return 0, unix.EINTR
	}
	i := 0
	if d.w.rng.IntN(4) == 0 { // loop devices have many queues
		i = d.w.rng.IntN(len(d.pending))
	}
	r := d.pending[i]
	d.pending = slices.Delete(d.pending, i, i+1)
	if len(p) < len(r.message) {
		d.w.Fail("a request of %d bytes is read into %d", len(r.message), len(p))
	}
	d.processing = append(d.processing, r)
	return copy(p, r.message), 0
}

// write is write(2) on the device: an answer, or a notification.
func (d *Device) write(p []byte) unix.Errno {
	length, code, unique := binary.LittleEndian.Uint32(p), int32(binary.LittleEndian.Uint32(p[4:])), binary.LittleEndian.Uint64(p[uniqueAt:])
	if int(length) != len(p) {
		d.w.Fail("an answer of %d bytes says %d", len(p), length)
	}
	if unique == 0 {
		if code == notifyResend {
			d.resend()
		}
		return 0
	}
	i := slices.IndexFunc(d.processing, func(r *Request) bool { return r.unique() == unique })
	if i < 0 {
		return unix.ENOENT
	}
	r := d.processing[i]
	d.processing = slices.Delete(d.processing, i, i+1)
	r.answered, r.Errno, r.Data = true, unix.Errno(-code), append([]byte(nil), p[outHeader:]...)
	if d.w.rng.IntN(100) == 0 { // the task that was waiting takes the processor
		Sleep(time.Duration(d.w.rng.IntN(int(preempted))))
	}
	return 0
}

// resend queues the requests again that were read and not answered, before all others.
func (d *Device) resend() {
	for _, r := range d.processing {
		binary.LittleEndian.PutUint64(r.message[uniqueAt:], r.unique()|uniqueResend)
		d.Resent++
	}
	d.pending = append(slices.Clone(d.processing), d.pending...)
	d.processing = d.processing[:0]
}

// Describe says what waits, for a failure.
func (d *Device) Describe() string {
	return fmt.Sprintf("%d requests wait to be read, %d to be answered", len(d.pending), len(d.processing))
}

// interrupt interrupts the read of a task. Where it is not in one, the signal is lost on it.
func (w *World) interrupt(number int) {
	for _, t := range w.tasks {
		t.signal = t.signal || t.number == number && t.reading
	}
}
