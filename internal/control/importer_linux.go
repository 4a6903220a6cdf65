// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/store"
)

// A command that imports shares a memfd with the worker and puts one batch of records after the
// other there:
//
//	command: handles on the data file that it knows of, a byte, with the memfd's descriptor
//	worker:  an answer
//	command: length of the batch, 4 bytes
//	worker:  an answer, once the batch is stored
//
// The worker copies each batch by pread before it checks it. So it stores the bytes that it has
// checked, and a memfd that the command shrinks raises no SIGBUS. The worker attends one import at
// a time, during requests: each page waits for a worker of the store, as requests do.
//
// The command counts the handles on the data file before it begins, and may wait for another import
// then. So the worker counts them again before each page and refuses it once there are more: the
// new handle may be a loop device with swap on it, whose pages the import would overwrite.
const (
	importAnswer   = 16              // bytes of an answer: result, number of an error or 0, and the page that failed (8)
	importPatience = 2 * time.Minute // bounds the silence of a command
)

// The results of a batch.
const (
	importStored = iota
	importFull
	importCorrupt
	importRefused
	importForbidden
	importInUse
)

// An Importer is the worker's end of imports.
type Importer struct {
	store *store.Store  // immutable
	mount int           // number of the data file's mount, which the command has to see; immutable
	opens func() int    // the number of open handles on the data file; immutable
	l     *socket       // immutable
	done  chan struct{} // closed once the last connection is closed
	turn  chan struct{} // taken by the import under way
	ended chan struct{} // closed with closed

	// The buffers belong to the import under way. The first one makes them, further ones make no
	// garbage.
	batch, scratch []byte

	mu     sync.Mutex
	conns  map[*net.UnixConn]bool // those attended; guarded by mu
	closed bool                   // guarded by mu
}

// ListenImports takes imports into s until Close. connection is the number of the data file's FUSE
// connection, and opens returns the number of open handles on the data file. The caller closes the
// Importer before the store.
func ListenImports(dir string, connection int, s *store.Store, opens func() int) (*Importer, error) {
	l, _, err := listenAt(socketDirs(), importName(dir, connection)) // the keeper warns of unguarded names
	if err != nil {
		return nil, fmt.Errorf("imports will not be possible: %w", err)
	}
	i := &Importer{
		store: s, mount: connection, opens: opens, l: l,
		done: make(chan struct{}), turn: make(chan struct{}, 1), ended: make(chan struct{}), conns: make(map[*net.UnixConn]bool),
	}
	go func() {
		forbid := func(c *net.UnixConn, why error) { _ = answerImport(c, importForbidden, 0, why) } // it may have ended
		serve(l, forbid, func(c *net.UnixConn) {
			if i.begin(c) {
				_ = i.attend(c) // the command has ended, or broken the protocol
			}
			i.end(c)
		})
		close(i.done)
	}()
	return i, nil
}

// begin notes a connection, and reports whether it may be attended.
func (i *Importer) begin(c *net.UnixConn) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.conns[c] = true
	return !i.closed
}

// end forgets a connection.
func (i *Importer) end(c *net.UnixConn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.conns, c)
}

// over reports whether the importer is closed.
func (i *Importer) over() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.closed
}

// Close ends the import under way after its present page. No import uses the store after Close.
func (i *Importer) Close() error {
	i.mu.Lock()
	if !i.closed {
		i.closed = true
		close(i.ended)
	}
	for c := range i.conns {
		_ = c.Close() // it may be closed already
	}
	i.mu.Unlock()
	err := i.l.Close()
	<-i.done
	return err
}

// attend serves one import, after the one under way.
func (i *Importer) attend(c *net.UnixConn) error {
	memory, free, err := i.admit(c)
	if err != nil {
		return err
	}
	defer func() { _ = memory.Close() }() // only read from
	select {
	case i.turn <- struct{}{}:
		defer func() { <-i.turn }()
	case <-i.ended:
		return errImportEnded
	}
	if err := answerImport(c, importStored, 0, nil); err != nil {
		return err
	}
	if i.batch == nil {
		i.batch, i.scratch = make([]byte, importBatch), make([]byte, store.PageSize)
	}
	for said := [4]byte{}; ; {
		if err := c.SetDeadline(time.Now().Add(importPatience)); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, said[:]); err != nil {
			return err
		}
		n := binary.LittleEndian.Uint32(said[:])
		if n > importBatch {
			return answerImport(c, importRefused, 0, nil)
		}
		if _, err := memory.ReadAt(i.batch[:n], 0); err != nil {
			return answerImport(c, importRefused, 0, err)
		}
		page, err := storeBatch(i.store, i.batch[:n], i.scratch, free)
		if err := answerImport(c, outcome(err), page, err); err != nil {
			return err
		}
	}
}

// admit checks the command and takes its memfd. free returns an error once no further page may be
// stored.
func (i *Importer) admit(c *net.UnixConn) (batches *os.File, free func() error, err error) {
	if err := c.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return nil, nil, err
	}
	hello, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.ReadMsgUnix(hello, rights)
	if err != nil {
		return nil, nil, errors.Join(err, answerImport(c, importRefused, 0, err))
	}
	files, err := sentFiles(rights[:n], "batches")
	if err == nil {
		if err = admit(c, i.mount); err != nil {
			err = errors.Join(err, answerImport(c, importForbidden, 0, err))
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeAll(files))
	}
	var fs unix.Statfs_t
	if len(files) == 0 {
		err = store.ErrNotMemory
	} else if err = unix.Fstatfs(int(files[0].Fd()), &fs); err == nil && fs.Type != unix.TMPFS_MAGIC {
		err = store.ErrNotMemory // a file on the device itself would wait for this worker
	}
	if err != nil {
		return nil, nil, errors.Join(err, answerImport(c, importRefused, 0, err), closeAll(files))
	}
	free = func() error {
		if i.over() { // the rest of the batch may take seconds, in which no process serves
			return errImportEnded
		}
		if i.opens() > int(hello[0]) {
			return errImportInUse
		}
		return nil
	}
	return files[0], free, nil
}

func outcome(err error) uint32 {
	switch {
	case err == nil:
		return importStored
	case errors.Is(err, store.ErrFull):
		return importFull
	case errors.Is(err, store.ErrObject):
		return importCorrupt
	case errors.Is(err, errImportInUse):
		return importInUse
	}
	return importRefused
}

func answerImport(c *net.UnixConn, what uint32, page uint64, why error) error {
	var a [importAnswer]byte
	var number unix.Errno
	_ = errors.As(why, &number) // else it stays 0
	binary.LittleEndian.PutUint32(a[:], what)
	binary.LittleEndian.PutUint32(a[4:], uint32(number))
	binary.LittleEndian.PutUint64(a[8:], page)
	_, err := c.Write(a[:])
	return err
}
