// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// rawStore makes a store that compresses nothing. end closes it and its memory.
func rawStore(t *testing.T, cfg store.Config) (s *store.Store, end func()) {
	t.Helper()
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Disksize = 32 << 20
	if cfg.Algorithm, err = codec.Parse("raw"); err != nil {
		t.Fatal(err)
	}
	if s, err = store.Create(memory, cfg); err != nil {
		t.Fatal(err)
	}
	return s, func() {
		if err := errors.Join(s.Close(), memory.Close()); err != nil {
			t.Error(err)
		}
	}
}

// A worker that has to stop does not store the rest of a batch first.
func TestImportEndsInABatch(t *testing.T) {
	var begun atomic.Bool
	reached, goOn := make(chan struct{}), make(chan struct{})
	s, end := rawStore(t, store.Config{MemLimit: 8 << 20, AllocHook: func(take func() error) error {
		if begun.CompareAndSwap(true, false) { // the batch needs more than there is
			close(reached)
			<-goOn
		}
		return take()
	}})
	dir := t.TempDir()
	worker, err := ListenImports(dir, testConnection, s, func() int { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	i := openImport(t, dir)
	const last = 249
	for page := uint64(0); page <= last; page++ {
		if err := i.Object(page, codec.Raw, randomPage(page)); err != nil {
			t.Fatal(err)
		}
	}
	begun.Store(true)
	flushed, closed := make(chan error, 1), make(chan error, 1)
	go func() { flushed <- i.Flush() }()
	<-reached
	go func() { closed <- worker.Close() }()
	for over := false; !over; time.Sleep(time.Millisecond) {
		worker.mu.Lock()
		over = worker.closed
		worker.mu.Unlock()
	}
	close(goOn)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := <-flushed; !errors.Is(err, errImportEnded) {
		t.Errorf("the import was told %v, want errImportEnded", err)
	}
	if !bytes.Equal(readPage(t, s, last), make([]byte, store.PageSize)) {
		t.Error("the whole batch was stored first")
	}
	s.Check(func(err error) { t.Error(err) })
	end()
}

// Once the data file is opened during an import, no further page is stored: the new handle may be a
// loop device with swap on it.
func TestImportEndsWhereTheDeviceIsOpened(t *testing.T) {
	s, end := rawStore(t, store.Config{})
	const known, last = 2, 99
	looks := 0
	dir := t.TempDir()
	worker, err := ListenImports(dir, testConnection, s, func() int {
		if looks++; looks > last { // before the last page is stored
			return known + 1
		}
		return known
	})
	if err != nil {
		t.Fatal(err)
	}
	i, err := OpenImport(dir, testConnection, known)
	if err != nil {
		t.Fatal(err)
	}
	for page := uint64(0); page <= last; page++ {
		if err := i.Object(page, codec.Raw, randomPage(page)); err != nil {
			t.Fatal(err)
		}
	}
	if err := i.Flush(); !errors.Is(err, errImportInUse) {
		t.Errorf("the import was told %v, want errImportInUse", err)
	}
	if err := errors.Join(i.Close(), worker.Close()); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(readPage(t, s, last-1), randomPage(last-1)) || !bytes.Equal(readPage(t, s, last), make([]byte, store.PageSize)) {
		t.Error("not all pages before it was opened were stored, or one after that")
	}
	end()
}

// A worker that sends a command away at once, before it has read anything, is heard.
func TestImportIsRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	l, _, err := listenAt(socketDirs(), importName(dir, testConnection))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			_ = answerImport(c, importForbidden, 0, nil) // the command waits for it
			_ = c.Close()
		}
	}()
	for range 200 { // which write their greeting to a socket that is closed, or not yet
		if _, err := OpenImport(dir, testConnection, 0); !errors.Is(err, errForbidden) {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}
