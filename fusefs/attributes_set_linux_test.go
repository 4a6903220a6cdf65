// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"
)

// While an attribute is set for long, setting another one fails, so that a thread stays for those
// that read; a server that is to stop leaves the request to its successor.
func TestSettingDoesNotWaitForEver(t *testing.T) {
	l := newLeft(t)
	cfg := Config{Store: l.store, Algorithm: l.algorithm()}
	stopping := false
	a := &attributes{cfg: cfg, stopping: func() bool { return stopping }, keep: func(Settings) error { return nil }}
	a.chosen.Store(&Settings{})
	limit := a.order("mem_limit", a.setMemLimit)
	sets := map[string]func(uint64, []byte) error{"mem_limit": limit.set, "disksize": a.setDisksize, "reset": a.reset}
	a.setting.Lock()
	for name, set := range sets {
		if err := set(10, []byte("1")); !errors.Is(err, syscall.EAGAIN) {
			t.Errorf("%s: %v, want EAGAIN", name, err)
		}
	}
	stopping = true
	for name, set := range sets {
		if err := set(10, []byte("1")); !errors.Is(err, ErrLeft) {
			t.Errorf("%s of a server that is to stop: %v", name, err)
		}
	}
	a.setting.Unlock()
	if err := limit.set(12, []byte("0")); err != nil {
		t.Error(err)
	}
}

// Pages that are moved to the backing device are counted, also where an attribute is being set for
// long, as compact is: an error would keep the device from moving more for ten minutes.
func TestSpillIsCountedWhileAnAttributeIsSet(t *testing.T) {
	const pages = 1000
	_, a := newBackedFileSystem(t, pages, pages)
	keep, held := a.keep, false
	var set sync.WaitGroup
	a.keep = func(c Settings) error {
		if !held {
			held = true
			set.Go(func() {
				a.setting.Lock()
				time.Sleep(setTime + setTime/2)
				a.setting.Unlock()
			})
			time.Sleep(setPause) // until it waits: it is next
		}
		return keep(c)
	}
	if moved, err := a.spill(0, pages+100); moved != pages || err != nil {
		t.Errorf("%d pages are moved, %v", moved, err)
	}
	set.Wait()
	if got := a.chosen.Load().spent(time.Now()); got != pages {
		t.Errorf("%d pages are counted, of %d", got, pages)
	}
}

// A limit of memory is rounded up to pages.
func TestMemLimitIsRounded(t *testing.T) {
	f := newTestFileSystem(t, pageSize)
	for text, want := range map[string]string{"0": "0\n", "1": "4096\n", "4096": "4096\n", "4097": "8192\n", "1M": "1048576\n"} {
		if status := writeAttribute(f, "mem_limit", text); !status.Ok() {
			t.Error(status)
		}
		if got := readAttribute(t, f, "mem_limit", 64); got != want {
			t.Errorf("a limit of %q is %q", text, got)
		}
	}
}
