// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"sync"
	"sync/atomic"
	"testing"
)

// A slowFile reads and writes once it is released.
type slowFile struct {
	blockFile
	waiting atomic.Int32
	release chan struct{}
	writes  bool // they pass at once
}

func (f *slowFile) ReadAt(p []byte, off int64) (int, error) {
	f.waiting.Add(1)
	<-f.release
	return f.blockFile.ReadAt(p, off)
}

func (f *slowFile) WriteAt(p []byte, off int64) (int, error) {
	if !f.writes {
		f.waiting.Add(1)
		<-f.release
	}
	return f.blockFile.WriteAt(p, off)
}

// Requests that wait for the backing device hold up nothing but themselves: others read and write,
// also the same pages, pages are written back, and maintenance goes on.
func TestSlowBackingDevice(t *testing.T) {
	b := newBacking(t, 1000)
	s := newBackedStore(t, 600, Config{Backing: b, Workers: 6})
	mustWriteBack(t, s, WritebackConfig{Pages: []Selection{{End: 300}}})
	slow := &slowFile{blockFile: b.file, release: make(chan struct{}), writes: true}
	b.file = slow
	var waiting sync.WaitGroup
	stepped := make(chan bool, 4)
	for page := range uint64(4) {
		waiting.Go(func() {
			w := s.Acquire()
			defer w.Release()
			w.OnWait(func(forMemory bool) { stepped <- forMemory })
			var err error
			p := make([]byte, PageSize)
			if page == 3 { // a part of a page needs the rest
				err = w.Write(page, 0, []byte("part"))
			} else {
				err = w.Read(page, 0, p)
			}
			old, now := bytes.Equal(p, testContent(page, 1).bytes()), bytes.Equal(p, testContent(page, 2).bytes())
			if err != nil || page != 3 && !old && !now {
				t.Errorf("page %d: %v, or it holds what it never did", page, err)
			}
		})
	}
	eventually(t, "four requests wait", func() bool { return slow.waiting.Load() == 4 })
	for range 4 {
		if <-stepped {
			t.Error("a request says that it waits for memory")
		}
	}
	for page := range uint64(600) {
		if page < 4 || page >= 300 {
			write(t, s, page, testContent(page, 2).bytes())
			if !bytes.Equal(read(t, s, page), testContent(page, 2).bytes()) {
				t.Fatalf("page %d is wrong", page)
			}
		}
	}
	discard(s, 100, 100)
	s.CompactNow(nil)
	if did := mustWriteBack(t, s, everything); did.Pages != 304 {
		t.Errorf("%d pages were written back, 304 should be", did.Pages)
	}
	close(slow.release)
	waiting.Wait()
	want := testContent(3, 2).bytes()
	copy(want, "part")
	if !bytes.Equal(read(t, s, 3), want) {
		t.Error("a part was written to what the page held before")
	}
}
