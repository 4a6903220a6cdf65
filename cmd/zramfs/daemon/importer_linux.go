// SPDX-License-Identifier: Apache-2.0

package daemon

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

// An Import hands pages to the worker of a device, which stores each as if it had been written. It
// belongs to one goroutine. What was handed in is stored once Flush has returned without an error;
// after an error nothing more can be handed in.
type Import struct {
	c      *net.UnixConn
	memory *os.File
	batch  []byte
	sent   bool // the worker has a batch that it has not answered yet
}

// OpenImport begins an import into the device at dir, whose data file has the connection of that
// number. Root may do that, and who mounted the device. While somebody else's import is under way
// it waits for that. Once there are more handles on the data file than opens, pages are refused.
func OpenImport(dir string, connection, opens int) (_ *Import, err error) {
	c, err := dial(controlDirs(), importName(dir, connection))
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
	if _, _, err := c.WriteMsgUnix([]byte{byte(min(opens, 255))}, unix.UnixRights(fd), nil); err != nil {
		return nil, i.explain(err)
	}
	return i, i.answer()
}

// Close ends the import. What was not flushed is not stored.
func (i *Import) Close() error {
	err := i.c.Close()
	if i.memory != nil {
		err = errors.Join(err, i.memory.Close())
	}
	return err
}

// Object hands in a page as its object.
func (i *Import) Object(page uint64, id codec.ID, packed []byte) error {
	return i.add(record{page: page, id: id, kind: recordObject, checksum: store.Seal(page, id, packed), payload: packed})
}

// Word hands in a page that is filled with a word; one of zeros holds nothing.
func (i *Import) Word(page, word uint64) error {
	if word == 0 {
		return i.Zeros(page, 1)
	}
	return i.add(record{page: page, kind: recordWord, payload: binary.LittleEndian.AppendUint64(nil, word)})
}

// Zeros hands in count pages from first on that hold nothing.
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

// Flush waits until all that was handed in is stored. It fails with store.ErrFull.
func (i *Import) Flush() error {
	if len(i.batch) > 0 {
		if err := i.send(); err != nil {
			return err
		}
	}
	return i.settle()
}

// send gives the worker the batch, once it has stored the one before. While it is at it the next
// one can be filled.
func (i *Import) send() error {
	if err := i.settle(); err != nil {
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

// settle waits for what the worker says of the batch that it has, if it has one.
func (i *Import) settle() error {
	if !i.sent {
		return nil
	}
	i.sent = false
	if err := i.c.SetDeadline(time.Now().Add(importPatience)); err != nil {
		return err
	}
	return i.answer()
}

// answer waits for the worker's word.
func (i *Import) answer() error {
	var a [importAnswer]byte
	if _, err := io.ReadFull(i.c, a[:]); err != nil {
		return i.explain(err)
	}
	page := binary.LittleEndian.Uint64(a[8:])
	switch what := binary.LittleEndian.Uint32(a[:]); what {
	case importStored:
		return nil
	case importFull:
		return fmt.Errorf("page %d: %w", page, store.ErrFull)
	case importCorrupt:
		return fmt.Errorf("page %d: %w", page, store.ErrObject)
	case importForbidden:
		return errForbidden
	case importInUse:
		return fmt.Errorf("page %d: %w", page, errImportInUse)
	}
	return fmt.Errorf("page %d: %w", page, errImportRefused)
}

var (
	// errImportRefused is what a worker makes of what is no batch.
	errImportRefused = errors.New("the serving process refuses it")
	// errImportInUse means that somebody has opened the data file since the import was begun.
	errImportInUse = errors.New("somebody has opened the device's data file")
	// errImportEnded means that the worker has ended, or was replaced.
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
