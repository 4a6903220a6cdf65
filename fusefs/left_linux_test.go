// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// left is the memory of requests as a dead process has left it, with the store of its successor.
// Sockets that keep messages apart stand in for /dev/fuse: they show our answers, and decide
// nothing that the kernel would decide.
type left struct {
	t       testing.TB
	store   *store.Store
	session *Session // for its memory of requests alone
	kernel  [2]int   // the other ends, by kind of connection
	status  func([]string) ([]byte, error)
	lone    bool // the successor cannot have anything sent again
}

// leftTransfer is the largest request here.
const leftTransfer = 64 << 10

func newLeft(t testing.TB) *left {
	t.Helper()
	return newLeftOf(t, requestsShape{attributes: 1, data: 2, transfer: leftTransfer})
}

func newLeftOf(t testing.TB, shape requestsShape) *left {
	t.Helper()
	return newLeftOn(t, shape, store.Config{Disksize: smallDisk})
}

// newLeftOn has a store of its own configuration, but for the algorithm.
func newLeftOn(t testing.TB, shape requestsShape, cfg store.Config) *left {
	t.Helper()
	l := &left{t: t, session: &Session{}}
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Algorithm = l.algorithm()
	if l.store, err = store.Create(memory, cfg); err != nil {
		t.Fatal(err)
	}
	if err := l.session.makeRequests(shape); err != nil {
		t.Fatal(err)
	}
	for kind, file := range []**os.File{&l.session.files.Attributes, &l.session.files.Data} {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		*file, l.kernel[kind] = os.NewFile(uintptr(pair[0]), "device"), pair[1]
	}
	t.Cleanup(func() {
		err := errors.Join(l.session.Close(), checked(l.store), l.store.Close(), memory.Close(),
			unix.Close(l.kernel[0]), unix.Close(l.kernel[1]))
		if err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *left) algorithm() codec.Algorithm {
	l.t.Helper()
	a, err := codec.Parse("lz4")
	if err != nil {
		l.t.Fatal(err)
	}
	return a
}

// slot is one of the data connection's.
func (l *left) slot(n int) *slot {
	l.t.Helper()
	all, err := l.session.requests.slots(dataConnection)
	if err != nil {
		l.t.Fatal(err)
	}
	return all[n]
}

// put leaves a message in a slot, as a thread does that receives it.
func (l *left) put(s *slot, m message) {
	copy(s.room(), m)
	s.seal(m)
}

// successor is a new server, which has begun nothing.
func (l *left) successor() *Server {
	l.t.Helper()
	s, err := NewServer(l.session.files, Config{Store: l.store, Algorithm: l.algorithm(), Status: l.status, NoResend: l.lone})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			l.t.Error(err)
		}
	})
	return s
}

// recover has a successor finish what is left and returns what it told the kernel
// on the data connection.
func (l *left) recoverAll() []answered {
	l.t.Helper()
	s := l.successor()
	for _, recoverAll := range []func() error{s.attributes.recover, s.data.recover, s.attributes.finish} {
		if err := recoverAll(); err != nil {
			l.t.Fatal(err)
		}
	}
	return l.heard(dataConnection)
}

// answered is a message to the kernel.
type answered struct {
	length uint32
	errno  int // 0 or above, but for what is no answer
	unique uint64
	data   []byte
}

// send sends a message as the kernel does.
func (l *left) send(kind connectionKind, m message) error {
	_, err := uninterrupted(func() (int, error) { return unix.Write(l.kernel[kind], m) })
	return err
}

// receive waits for what the kernel is told.
func (l *left) receive(kind connectionKind, buf []byte) (int, error) {
	return uninterrupted(func() (int, error) { return unix.Read(l.kernel[kind], buf) })
}

// uninterrupted repeats a call that the runtime's signal ends: servers take SA_RESTART off it.
func uninterrupted(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err != unix.EINTR {
			return n, err
		}
	}
}

// heard takes what was told the kernel until now.
func (l *left) heard(kind connectionKind) (all []answered) {
	l.t.Helper()
	buf := make([]byte, leftTransfer+bufferOff)
	for {
		n, _, err := unix.Recvfrom(l.kernel[kind], buf, unix.MSG_DONTWAIT)
		if err == unix.EAGAIN {
			return all
		}
		if err != nil || n < outHeaderSize {
			l.t.Fatal(n, err)
		}
		all = append(all, answered{
			length: binary.LittleEndian.Uint32(buf), errno: -int(int32(binary.LittleEndian.Uint32(buf[4:]))),
			unique: binary.LittleEndian.Uint64(buf[8:]), data: bytes.Clone(buf[outHeaderSize:n]),
		})
	}
}

// wantAnswer checks that the only answer is this one. A write's data are its
// count.
func (l *left) wantAnswer(got []answered, unique uint64, errno int, data []byte) {
	l.t.Helper()
	if len(got) != 1 || got[0].unique != unique || got[0].errno != errno || !bytes.Equal(got[0].data, data) ||
		got[0].length != uint32(outHeaderSize+len(data)) {
		l.t.Errorf("answered %+v, want the number %d, error %d and %d bytes", got, unique, errno, len(data))
	}
}

// write writes a page of the store, page reads one.
func (l *left) write(page uint64, content []byte) {
	l.t.Helper()
	w := l.store.Acquire()
	defer w.Release()
	if err := w.Write(page, 0, content); err != nil {
		l.t.Fatal(err)
	}
}

func (l *left) page(page uint64) []byte {
	l.t.Helper()
	p := make([]byte, pageSize)
	w := l.store.Acquire()
	defer w.Release()
	if err := w.Read(page, 0, p); err != nil {
		l.t.Fatal(err)
	}
	return p
}

// Requests as the kernel makes them (include/uapi/linux/fuse.h).

func request(op uint32, unique, node uint64, argument []byte) message {
	m := make([]byte, inHeaderSize, inHeaderSize+len(argument))
	m = append(m, argument...)
	binary.LittleEndian.PutUint32(m, uint32(len(m)))
	binary.LittleEndian.PutUint32(m[4:], op)
	binary.LittleEndian.PutUint64(m[8:], unique)
	binary.LittleEndian.PutUint64(m[16:], node)
	return m
}

func transferArgument(off uint64, n int) []byte {
	a := make([]byte, argumentSize)
	binary.LittleEndian.PutUint64(a[8:], off)
	binary.LittleEndian.PutUint32(a[16:], uint32(n))
	return a
}

func writeRequest(unique, off uint64, data []byte) message {
	return request(opWrite, unique, dataNode, append(transferArgument(off, len(data)), data...))
}

func readRequest(unique, off uint64, n int) message {
	return request(opRead, unique, dataNode, transferArgument(off, n))
}

func punchRequest(unique, off, n uint64) message {
	a := make([]byte, fallocateSize)
	binary.LittleEndian.PutUint64(a[8:], off)
	binary.LittleEndian.PutUint64(a[16:], n)
	binary.LittleEndian.PutUint32(a[24:], punchHole)
	return request(opFallocate, unique, dataNode, a)
}

func initRequest(unique uint64) message {
	a := make([]byte, 64) // struct fuse_init_in
	for i, word := range []uint32{7, 45, 1 << 20, 0x73fffffb, 0x7fd} {
		binary.LittleEndian.PutUint32(a[4*i:], word)
	}
	return request(opInit, unique, 0, a)
}

// count is fuse_write_out.
func count(n int) []byte {
	p := make([]byte, writeOutSize)
	putWriteOut(p, n)
	return p
}

func filled(n int, b byte) []byte { return bytes.Repeat([]byte{b}, n) }

// varied is n bytes that are different everywhere.
func varied(n int, seed byte) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*7) ^ byte(i>>8) ^ seed
	}
	return p
}
