// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"zramfs/codec"
	"zramfs/store"
)

// A worker that is to end, so that another can serve, is not kept by the rest of a batch.
func TestImportEndsInABatch(t *testing.T) {
	var begun atomic.Bool
	reached, goOn := make(chan struct{}), make(chan struct{})
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	a, err := codec.Parse("raw")
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Create(memory, store.Config{Disksize: 32 << 20, Algorithm: a, MemLimit: 8 << 20, Firmly: func(take func() error) error {
		if begun.CompareAndSwap(true, false) { // the batch needs more than there is
			close(reached)
			<-goOn
		}
		return take()
	}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	worker, err := listenImports(dir, testConnection, s, func() int { return 0 })
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
	go func() { closed <- worker.close() }()
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
	if err := errors.Join(s.Close(), memory.Close()); err != nil {
		t.Error(err)
	}
}
