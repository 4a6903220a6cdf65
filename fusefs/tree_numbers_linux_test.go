// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"strings"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zramfs/zramfs/store"
)

// The kernel goes on using inode numbers after an upgrade: those of the first version stay.
func TestInodeNumbersStay(t *testing.T) {
	tree := newTestFileSystem(t, smallDisk).tree
	for name, want := range map[string]uint64{
		"dev": 2, "block": 3, "block/zram0": 4, "control": 5, "block/zram0/disksize": 6, "block/zram0/initstate": 7,
		"block/zram0/comp_algorithm": 8, "block/zram0/mem_limit": 9, "block/zram0/mem_used_max": 10, "block/zram0/mm_stat": 11,
		"block/zram0/io_stat": 12, "control/status": 13, "control/loops": 14, "devices": 15,
	} {
		at := tree.get(rootNode)
		for part := range strings.SplitSeq(name, "/") {
			if at = tree.lookup(at.id, part); at == nil {
				t.Fatalf("there is no %s", name)
			}
		}
		if at.id != want {
			t.Errorf("%s has the number %d, and had %d in the first version", name, at.id, want)
		}
	}
}

// A device without further ones has neither hot_add nor hot_remove, and its other files have the
// same numbers as elsewhere: one of an earlier version had both.
func TestInodeNumbersWithoutExtraDevices(t *testing.T) {
	with, _ := newTestDevice(t, Config{Store: newStore(t, store.Config{Disksize: 4 << 20}), Add: func(uint64) (int, error) { return 0, nil }, Remove: func(uint64, int) error { return nil }})
	without := newTestFileSystem(t, smallDisk)
	for i := range with.tree {
		a, b := &with.tree[i], &without.tree[i]
		if a.name != b.name || (a.parent != b.parent) != strings.HasPrefix(a.name, "hot_") {
			t.Errorf("number %d is %s in %d, and without extra devices %s in %d", i, a.name, a.parent, b.name, b.parent)
		}
		if a.parent != b.parent {
			for _, flags := range []uint32{syscall.O_RDONLY, syscall.O_WRONLY} { // the kernel may know the number
				if got := without.Open(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: b.id}, Flags: flags}, new(fuse.OpenOut)); got != fuse.EACCES {
					t.Errorf("open %s: %v", b.name, got)
				}
			}
		}
	}
}
