// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// testConnection stands for a FUSE connection that does not exist.
const testConnection = 0

// importable makes a store that takes imports as the device at dir, until stop.
func importable(t *testing.T, limit uint64) (s *store.Store, dir string, stop func()) {
	t.Helper()
	a, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = store.Create(memory, store.Config{Disksize: 32 << 20, Algorithm: a, MemLimit: limit}); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	i, err := ListenImports(dir, testConnection, s, func() int { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		stop()
		s.Check(func(err error) { t.Error(err) })
		if err := errors.Join(s.Close(), memory.Close()); err != nil {
			t.Error(err)
		}
	})
	return s, dir, stop
}

func openImport(t *testing.T, dir string) *Import {
	t.Helper()
	i, err := OpenImport(dir, testConnection, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() }) // the test may have
	return i
}

func readPage(t *testing.T, s *store.Store, page uint64) []byte {
	t.Helper()
	w := s.Acquire()
	defer w.Release()
	p := make([]byte, store.PageSize)
	if err := w.Read(page, 0, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// randomPage is a page that does not compress.
func randomPage(page uint64) []byte {
	p := make([]byte, store.PageSize)
	_, _ = rand.NewChaCha8([32]byte{byte(page), byte(page >> 8), 1}).Read(p) // never fails
	return p
}

// Objects, words and zeros arrive, over several batches and one import after the other.
func TestImport(t *testing.T) {
	s, dir, _ := importable(t, 0)
	w := s.Acquire()
	for page := range s.Pages() {
		if err := w.Write(page, 0, randomPage(page+1)); err != nil {
			t.Fatal(err)
		}
	}
	w.Release()
	const word = 0x1234567890abcdef
	for _, part := range [][2]uint64{{0, 3000}, {3000, s.Pages()}} {
		i := openImport(t, dir)
		for page := part[0]; page < part[1]; page++ {
			var err error
			switch page % 4 {
			case 0:
				err = i.Word(page, word+page)
			case 1:
				err = i.Zeros(page, 1)
			default:
				err = i.Object(page, codec.Raw, randomPage(page))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(i.Flush(), i.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for page := range s.Pages() {
		want := make([]byte, store.PageSize)
		switch page % 4 {
		case 0:
			for n := 0; n < len(want); n += 8 {
				binary.LittleEndian.PutUint64(want[n:], word+page)
			}
		case 2, 3:
			want = randomPage(page)
		}
		if !bytes.Equal(readPage(t, s, page), want) {
			t.Fatalf("page %d is wrong", page)
		}
	}
	i := openImport(t, dir)
	if err := errors.Join(i.Zeros(0, s.Pages()), i.Flush()); err != nil || s.Stats().Codecs[codec.Raw].Pages != 0 {
		t.Errorf("%v, %+v", err, s.Stats())
	}
}

// A page that cannot be stored is an error with its number, and the store is as it should be.
func TestImportErrors(t *testing.T) {
	s, dir, _ := importable(t, 8<<20)
	i := openImport(t, dir)
	i.batch = appendRecord(i.batch, record{page: 7, id: codec.Raw, kind: recordObject, checksum: 1, payload: randomPage(7)})
	if err := i.Flush(); !errors.Is(err, store.ErrObject) || err.Error()[:6] != "page 7" {
		t.Errorf("%v, want ErrObject of page 7", err)
	}
	full := error(nil)
	for page := range s.Pages() {
		if full = i.Object(page, codec.Raw, randomPage(page)); full != nil {
			break
		}
	}
	if !errors.Is(full, store.ErrFull) {
		t.Errorf("%v, want ErrFull", full)
	}
	for name, batch := range map[string][]byte{
		"cut header":   make([]byte, 15),
		"cut payload":  {12: 9, 15: recordObject},
		"no kind":      appendRecord(nil, record{payload: make([]byte, 8)}),
		"short word":   appendRecord(nil, record{kind: recordWord, payload: make([]byte, 7)}),
		"beyond":       appendRecord(nil, record{page: s.Pages(), kind: recordWord, payload: make([]byte, 8)}),
		"object of 0":  appendRecord(nil, record{kind: recordObject, id: codec.LZ4}),
		"unknown kind": appendRecord(nil, record{kind: 9, payload: make([]byte, 8)}),
	} {
		i.batch = append(i.batch[:0], batch...)
		if err := i.Flush(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	i.batch = appendRecord(i.batch[:0], record{page: 1 << 60, kind: recordZeros, payload: bytes.Repeat([]byte{255}, 8)})
	if err := i.Flush(); err != nil {
		t.Errorf("zeros beyond the device: %v", err) // as a discard there
	}
}

// A command that breaks the protocol is refused, and does not keep others from importing.
func TestImportOfOthers(t *testing.T) {
	_, dir, _ := importable(t, 0)
	file, err := os.Create(filepath.Join("/proc/self", "comm"))
	if err != nil {
		t.Fatal(err)
	}
	for name, talk := range map[string]func(c *net.UnixConn) error{
		"nothing":       func(c *net.UnixConn) error { return nil },
		"no descriptor": func(c *net.UnixConn) error { _, err := c.Write([]byte{0}); return err },
		"no memory file": func(c *net.UnixConn) error {
			_, _, err := c.WriteMsgUnix([]byte{0}, unix.UnixRights(int(file.Fd())), nil)
			return err
		},
		"no such message": func(c *net.UnixConn) error { _, err := c.Write(make([]byte, 100)); return err },
	} {
		c, err := dial(socketDirs(), importName(dir, testConnection))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(talk(c), c.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	i := openImport(t, dir)
	if _, err := i.c.Write([]byte{255, 255, 255, 0}); err != nil { // a batch that is too long
		t.Fatal(err)
	}
	if err := i.answer(); !errors.Is(err, errImportRefused) {
		t.Errorf("%v, want errImportRefused", err)
	}
	i = openImport(t, dir)
	if err := errors.Join(i.memory.Truncate(10), i.Object(1, codec.Raw, randomPage(1))); err != nil {
		t.Fatal(err)
	}
	i.batch = i.batch[:0]
	if _, err := i.c.Write([]byte{100, 0, 0, 0}); err != nil { // a memfd that is too short
		t.Fatal(err)
	}
	if err := i.answer(); !errors.Is(err, errImportRefused) {
		t.Errorf("%v, want errImportRefused", err)
	}
	i = openImport(t, dir)
	if err := errors.Join(i.Object(1, codec.Raw, randomPage(1)), i.Flush()); err != nil {
		t.Error(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

// A worker that ends does not wait for commands.
func TestImportEnds(t *testing.T) {
	_, dir, stop := importable(t, 0)
	i := openImport(t, dir)
	waiting := make(chan error, 1)
	go func() {
		_, err := OpenImport(dir, testConnection, 0) // it waits for i
		waiting <- err
	}()
	time.Sleep(20 * time.Millisecond)
	stop()
	if err := errors.Join(i.Object(1, codec.Raw, randomPage(1)), i.Flush()); !errors.Is(err, errImportEnded) {
		t.Errorf("%v, want errImportEnded", err)
	}
	if err := <-waiting; err == nil {
		t.Error("an import was begun")
	}
	if _, err := OpenImport(dir, testConnection, 0); !errors.Is(err, ErrNoKeeper) {
		t.Errorf("%v, want ErrNoKeeper", err)
	}
}
