// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zramfs/zramfs/store"
)

// TestStrangersAreBounded has users open attributes and keep them open: those beyond the bounds are
// refused, root is not, and what they have closed does not count.
func TestStrangersAreBounded(t *testing.T) {
	f := newTestFileSystem(t, pageSize)
	header := fuse.InHeader{NodeId: f.tree.lookup(deviceNode, "mm_stat").id}
	handles := map[uint32][]uint64{}
	open := func(user uint32) fuse.Status {
		var out fuse.OpenOut
		header.Uid = user
		header.Unique += 2
		status := f.Open(nil, &fuse.OpenIn{InHeader: header}, &out)
		if status.Ok() {
			handles[user] = append(handles[user], out.Fh)
		}
		return status
	}
	for range 3 { // closing makes room
		for user := range uint32(2 * strangersFiles / strangerFiles) {
			for range strangerFiles + 1 {
				open(1000 + user)
			}
		}
		if n := len(handles[1000]); n != strangerFiles {
			t.Errorf("a stranger has %d files", n)
		}
		if n := len(f.snapshots.held); n != strangersFiles {
			t.Errorf("strangers have %d files", n)
		}
		for _, user := range []uint32{0, f.owner.Uid} {
			if status := open(user); !status.Ok() {
				t.Errorf("user %d is refused: %v", user, status)
			}
		}
		for _, all := range handles {
			for _, handle := range all {
				f.Release(nil, &fuse.ReleaseIn{InHeader: header, Fh: handle})
			}
		}
		clear(handles)
		if n := f.snapshots.strangers.files + len(f.snapshots.held) + len(f.snapshots.user) + len(f.snapshots.strangers.of); n != 0 {
			t.Errorf("%d are left", n)
		}
	}
}

// Strangers who read an attribute at nearly the same time share its contents.
func TestStrangersShare(t *testing.T) {
	made := 0
	f, _ := newTestDevice(t, Config{
		Store: newStore(t, store.Config{Disksize: pageSize}),
		Status: func([]string) ([]byte, error) {
			made++
			return []byte("text"), nil
		},
	})
	header := fuse.InHeader{NodeId: f.tree.lookup(controlNode, "status").id}
	for handle := range uint64(strangerFiles) {
		header.Uid = 1000 + uint32(handle)
		if status := f.snapshot(f.node(header.NodeId), &header, handle); !status.Ok() {
			t.Fatal(status)
		}
		if content, ok := f.snapshots.get(handle); !ok || string(content) != "text" {
			t.Errorf("handle %d has %q", handle, content)
		}
	}
	if made == strangerFiles {
		t.Errorf("made %d times for as many", made)
	}
}

// A stranger's handle of a predecessor counts once, also where two reads at once make its contents.
func TestStrangerCountsOnce(t *testing.T) {
	f := newTestFileSystem(t, pageSize)
	header := fuse.InHeader{NodeId: f.tree.lookup(deviceNode, "mm_stat").id}
	header.Uid = 1000
	for range 2 {
		if status := f.snapshot(f.node(header.NodeId), &header, 7); !status.Ok() {
			t.Fatal(status)
		}
	}
	f.Release(nil, &fuse.ReleaseIn{InHeader: header, Fh: 7})
	if n := f.snapshots.strangers.files + len(f.snapshots.strangers.of); n != 0 {
		t.Errorf("%d are left", n)
	}
}
