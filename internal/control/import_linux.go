// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// An Import hands pages to the worker of a device, which stores each as a write does. All of them
// are stored once Flush has returned without an error. After an error the Import can only be
// closed. One goroutine uses it.
type Import struct {
	c      *net.UnixConn
	memory *os.File
	batch  []byte
	sent   bool // the worker has not answered the last batch yet
}

// OpenImport begins an import into the device at dir. connection is the number of the data file's
// FUSE connection. Root may import, and the user who mounted the device. OpenImport waits for the
// end of another import. The worker refuses pages once the data file has more than opens open
// handles.
func OpenImport(dir string, connection, opens int) (_ *Import, err error) {
	c, err := dial(socketDirs(), importName(dir, connection))
	if errors.Is(err, errForbidden) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: no worker takes imports: %w", ErrNoKeeper, err)
	}
	i := &Import{c: c, batch: make([]byte, 0, importBatch)}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.Close())
		}
	}()
	fd, err := unix.MemfdCreate("zramfs-import", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	i.memory = os.NewFile(uintptr(fd), "memfd:zramfs-import")
	if err := i.memory.Truncate(importBatch); err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(importPatience)); err != nil {
		return nil, err
	}
	_, _, err = c.WriteMsgUnix([]byte{byte(min(opens, 255))}, unix.UnixRights(fd), nil)
	if err != nil && !errors.Is(err, unix.EPIPE) { // where the worker refuses, its answer says why
		return nil, i.explain(err)
	}
	return i, i.answer()
}

// Close ends the import. Pages that were not flushed may be lost.
func (i *Import) Close() error {
	err := i.c.Close()
	if i.memory != nil {
		err = errors.Join(err, i.memory.Close())
	}
	return err
}

// Object hands in a page in its compressed form, with the format's ID.
func (i *Import) Object(page uint64, id codec.ID, packed []byte) error {
	return i.add(record{page: page, id: id, kind: recordObject, checksum: store.Seal(page, id, packed), payload: packed})
}

// Word hands in a page that repeats a word. A page of zeros takes no memory.
func (i *Import) Word(page, word uint64) error {
	if word == 0 {
		return i.Zeros(page, 1)
	}
	return i.add(record{page: page, kind: recordWord, payload: binary.LittleEndian.AppendUint64(nil, word)})
}

// Zeros hands in count pages of zeros from first on.
func (i *Import) Zeros(first, count uint64) error {
	for ; count > 0; first, count = first+min(count, discardAtOnce), count-min(count, discardAtOnce) {
		n := binary.LittleEndian.AppendUint64(nil, min(count, discardAtOnce))
		if err := i.add(record{page: first, kind: recordZeros, payload: n}); err != nil {
			return err
		}
	}
	return nil
}

func (i *Import) add(r record) error {
	if len(i.batch)+recordHeader+len(r.payload) > importBatch {
		if err := i.send(); err != nil {
			return err
		}
	}
	i.batch = appendRecord(i.batch, r)
	return nil
}

// Flush waits until all pages are stored. The error is store.ErrFull where they do not fit.
func (i *Import) Flush() error {
	if len(i.batch) > 0 {
		if err := i.send(); err != nil {
			return err
		}
	}
	return i.wait()
}

// send gives the worker the batch, once it has stored the one before. The caller fills the next one
// at the same time.
func (i *Import) send() error {
	if err := i.wait(); err != nil {
		return err
	}
	if _, err := i.memory.WriteAt(i.batch, 0); err != nil {
		return err
	}
	if err := i.c.SetDeadline(time.Now().Add(importPatience)); err != nil {
		return err
	}
	if _, err := i.c.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(i.batch)))); err != nil {
		return i.explain(err)
	}
	i.batch, i.sent = i.batch[:0], true
	return nil
}

// wait waits for the answer to the batch under way, if there is one.
func (i *Import) wait() error {
	if !i.sent {
		return nil
	}
	i.sent = false
	if err := i.c.SetDeadline(time.Now().Add(importPatience)); err != nil {
		return err
	}
	return i.answer()
}

// answer reads an answer of the worker.
func (i *Import) answer() error {
	var a [importAnswer]byte
	if _, err := io.ReadFull(i.c, a[:]); err != nil {
		return i.explain(err)
	}
	page := binary.LittleEndian.Uint64(a[8:])
	number := unix.Errno(binary.LittleEndian.Uint32(a[4:]))
	switch what := binary.LittleEndian.Uint32(a[:]); what {
	case importStored:
		return nil
	case importFull:
		return fmt.Errorf("page %d: %w", page, store.ErrFull)
	case importCorrupt:
		return fmt.Errorf("page %d: %w", page, store.ErrObject)
	case importForbidden:
		return withNumber(errForbidden, number)
	case importInUse:
		return fmt.Errorf("page %d: %w", page, errImportInUse)
	}
	return fmt.Errorf("page %d: %w", page, withNumber(errImportRefused, number))
}

// withNumber adds the error that the worker had, if there was one.
func withNumber(err error, number unix.Errno) error {
	if number == 0 {
		return err
	}
	return fmt.Errorf("%w: %w", err, number)
}

var (
	// errImportRefused means that the worker could not read a batch.
	errImportRefused = errors.New("the serving process refuses it")
	// errImportInUse means that the data file was opened after the import had begun.
	errImportInUse = errors.New("another process has opened the device's data file")
	// errImportEnded means that the worker has ended or was replaced.
	errImportEnded = errors.New("the serving process has ended the import")
)

func (i *Import) explain(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return explainSilence(i.c, importPatience, err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		return fmt.Errorf("%w: %w", errImportEnded, err)
	}
	return err
}
