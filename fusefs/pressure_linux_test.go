// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"slices"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// A change is seen by each handle until it is read from its beginning, by those of strangers too,
// who share the contents of other files; a file that was polled in vain is woken once.
func TestPressureOfHandles(t *testing.T) {
	f := newTestFileSystem(t, smallDisk)
	woken := map[uint64]int{}
	f.pressure.notify = func(kh uint64) { woken[kh]++ }
	n := f.tree.lookup(controlNode, pressureName)
	header := func(user uint32, request uint64) fuse.InHeader {
		return fuse.InHeader{NodeId: n.id, Unique: request, Caller: fuse.Caller{Owner: fuse.Owner{Uid: user}}}
	}
	read := func(user uint32, handle uint64) string {
		t.Helper()
		r, status := f.Read(nil, &fuse.ReadIn{InHeader: header(user, 1000+handle), Fh: handle, Size: 4096}, nil)
		if !status.Ok() {
			t.Fatalf("read by user %d: %v", user, status)
		}
		text, _ := r.Bytes(make([]byte, 4096))
		return string(text)
	}
	users := []uint32{0, 12, 34, 34}
	for handle, user := range users {
		if status := f.Open(nil, &fuse.OpenIn{InHeader: header(user, uint64(handle))}, &fuse.OpenOut{}); !status.Ok() {
			t.Fatal(status)
		}
		if read(user, uint64(handle)) != "level 0\n" || f.pressure.poll(uint64(handle), uint64(100+handle), true) {
			t.Errorf("user %d: %q, or a change", user, read(user, uint64(handle)))
		}
	}
	f.pressure.set(80)
	f.pressure.set(80)
	for handle, user := range users {
		h, kh := uint64(handle), uint64(100+handle)
		if !f.pressure.poll(h, kh, true) || woken[kh] != 1 {
			t.Errorf("user %d: no change, or woken %d times", user, woken[kh])
		}
		if got := read(user, h); got != "level 80\n" || f.pressure.poll(h, kh, false) {
			t.Errorf("user %d: %q, or another change", user, got)
		}
	}
	f.pressure.set(90)
	for handle, user := range users {
		if woken[uint64(100+handle)] != 1 {
			t.Errorf("user %d: woken although it does not wait", user)
		}
		f.Release(nil, &fuse.ReleaseIn{InHeader: header(user, 0), Fh: uint64(handle)})
	}
	if len(f.pressure.seen)+len(f.pressure.waiting)+f.snapshots.strangers.files != 0 {
		t.Errorf("handles are left: %v, %v, %d", f.pressure.seen, f.pressure.waiting, f.snapshots.strangers.files)
	}
	if !f.pressure.poll(77, 7, true) {
		t.Error("a predecessor's handle has no change")
	}
}

// A server that dies while it wakes the pollers of its predecessor leaves them to the next one.
func TestPollersAreWokenBeforeTheyAreForgotten(t *testing.T) {
	p := &pressure{words: make(polledWords, maxPolled)}
	var woken []uint64
	p.notify = func(kh uint64) {
		woken = append(woken, kh)
		if at := len(woken) - 1; p.words[at].Load() != kh {
			t.Errorf("file %d is forgotten before it is woken", kh)
		}
	}
	p.words.add(7)
	p.words.add(9)
	p.succeed()
	if !slices.Equal(woken, []uint64{7, 9}) || p.words[0].Load()+p.words[1].Load() != 0 {
		t.Errorf("%v are woken, and %d and %d are left", woken, p.words[0].Load(), p.words[1].Load())
	}
}
