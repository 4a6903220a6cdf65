// SPDX-License-Identifier: Apache-2.0

package daemon

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

// A command that imports talks to the worker itself, over a socket like the keeper's. It passes a
// memfd at first, puts a batch of records there, says its length, and waits for the answer:
//
//	command: how many handles on the data file it knows of, a byte, with the descriptor of the memfd
//	worker:  an answer
//	command: length of the batch, 4 bytes
//	worker:  an answer, once it is stored
//
// The worker copies each batch by pread before it looks at it: what it proves is then what it
// stores, and a memfd that shrinks is no signal. One import is worked on at a time, beside the
// requests and no faster than they leave it a worker of the store.
//
// A command looks who has the data file open before it begins, and may wait for another's import
// then: the worker looks before each page, and stores none once there are more. Such a one may be
// the kernel, whose pages those of the import would take the place of.
const (
	importAnswer   = 16              // bytes: what became of it, and, in the last 8, the page at which it failed
	importPatience = 2 * time.Minute // with a command that says nothing
)

// What became of a batch.
const (
	importStored = iota
	importFull
	importCorrupt
	importRefused
	importForbidden
	importInUse
)

// An importer is the worker's end.
type importer struct {
	store *store.Store  // immutable
	mount int           // number of the data file's, which who imports has to see; immutable
	opens func() int    // how many handles on the data file are open; immutable
	l     *socket       // immutable
	done  chan struct{} // closed when no connection is attended any more
	turn  chan struct{} // taken by the import under way
	ended chan struct{} // closed with closed

	// Made once, by the first import: who works for years leaves no garbage. They belong to the import
	// under way.
	batch, scratch []byte

	mu     sync.Mutex
	conns  map[*net.UnixConn]bool // that are attended; guarded by mu
	closed bool                   // guarded by mu
}

// takeImports lets commands hand pages in. A device without that works.
func (w *worker) takeImports() {
	i, err := listenImports(w.cfg.Dir, w.server.Settings().Connection, w.store, w.server.OpenCount)
	if err != nil {
		w.log.Warn(err.Error())
		return
	}
	w.undo = append(w.undo, w.sweep, i.close)
}

// sweep removes the names of sockets that a killed keeper has left.
func (w *worker) sweep() error {
	if !w.kept.Load() {
		sweepSockets(controlDirs())
	}
	return nil
}

// listenImports takes imports until close.
func listenImports(dir string, connection int, s *store.Store, opens func() int) (*importer, error) {
	l, _, err := listenAt(controlDirs(), importName(dir, connection)) // the keeper says whether it is guarded
	if err != nil {
		return nil, fmt.Errorf("imports will not be possible: %w", err)
	}
	i := &importer{
		store: s, mount: connection, opens: opens, l: l,
		done: make(chan struct{}), turn: make(chan struct{}, 1), ended: make(chan struct{}), conns: make(map[*net.UnixConn]bool),
	}
	go func() {
		serveSocket(l, func(c *net.UnixConn) {
			if i.begin(c) {
				_ = i.attend(c) // the command has gone, or does not behave
			}
			i.end(c)
		})
		close(i.done)
	}()
	return i, nil
}

// begin notes a connection, and reports whether it may be attended.
func (i *importer) begin(c *net.UnixConn) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.conns[c] = true
	return !i.closed
}

// end forgets a connection.
func (i *importer) end(c *net.UnixConn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.conns, c)
}

// over reports whether there is nothing more to be stored.
func (i *importer) over() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.closed
}

// close ends the import under way after the page that it is at; nothing touches the store after it.
func (i *importer) close() error {
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

// attend serves one import, once no other is under way.
func (i *importer) attend(c *net.UnixConn) error {
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
	if err := answerImport(c, importStored, 0); err != nil {
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
			return answerImport(c, importRefused, 0)
		}
		if _, err := memory.ReadAt(i.batch[:n], 0); err != nil {
			return answerImport(c, importRefused, 0)
		}
		page, err := storeBatch(i.store, i.batch[:n], i.scratch, free)
		if err := answerImport(c, outcome(err), page); err != nil {
			return err
		}
	}
}

// admit lets in who may control the device, and takes the memfd. free says why a page may not be
// stored now.
func (i *importer) admit(c *net.UnixConn) (batches *os.File, free func() error, err error) {
	if err := c.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return nil, nil, err
	}
	hello, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.ReadMsgUnix(hello, rights)
	if err != nil {
		return nil, nil, err
	}
	files, err := sentFiles(rights[:n], "batches")
	if err == nil {
		if err = admit(c, i.mount); err != nil {
			err = errors.Join(err, answerImport(c, importForbidden, 0))
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeAll(files))
	}
	var fs unix.Statfs_t
	if len(files) == 0 {
		err = store.ErrNotMemory
	} else if err = unix.Fstatfs(int(files[0].Fd()), &fs); err == nil && fs.Type != unix.TMPFS_MAGIC {
		err = store.ErrNotMemory // what is read from must not be served by us
	}
	if err != nil {
		return nil, nil, errors.Join(err, answerImport(c, importRefused, 0), closeAll(files))
	}
	free = func() error {
		if i.over() { // the rest may take seconds, in which no process serves
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

func answerImport(c *net.UnixConn, what uint32, page uint64) error {
	var a [importAnswer]byte
	binary.LittleEndian.PutUint32(a[:], what)
	binary.LittleEndian.PutUint64(a[8:], page)
	_, err := c.Write(a[:])
	return err
}
