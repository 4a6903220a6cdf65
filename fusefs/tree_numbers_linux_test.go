// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"strings"
	"testing"
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
