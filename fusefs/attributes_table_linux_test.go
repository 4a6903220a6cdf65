// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zramfs/zramfs/store"
)

// Attributes take and refuse texts as the kernel's do, and show what was taken; a text that is
// refused changes nothing.
func TestAttributesTakeAndShow(t *testing.T) {
	f, a := newBackedFileSystem(t, 100, 3)
	const ok, invalid, long = fuse.OK, fuse.EINVAL, fuse.Status(syscall.E2BIG)
	zstd := "#2: adaptive page page:dense lz4 lz4:fast [zstd] raw \n"
	both := "#1: adaptive page page:dense [lz4] lz4:fast zstd raw \n" + zstd
	lz4 := "adaptive page page:dense [lz4] lz4:fast zstd raw \n"
	for _, c := range []struct {
		name, text string
		want       fuse.Status
		shows      string // empty where it cannot be read
	}{
		{"recomp_algorithm", "algo=zstd priority=2", ok, zstd},
		{"recomp_algorithm", "algo=none", invalid, zstd},
		{"recomp_algorithm", "priority=1", invalid, zstd},
		{"recomp_algorithm", "algo=", invalid, zstd},
		{"recomp_algorithm", "algo=lz4 priority=0", invalid, zstd},
		{"recomp_algorithm", "algo=lz4 priority=4", invalid, zstd},
		{"recomp_algorithm", "algo=lz4 priority=x", invalid, zstd},
		{"recomp_algorithm", "algo=" + strings.Repeat("x", longestName), long, zstd},
		{"recomp_algorithm", "algo=" + strings.Repeat("x", longestName-1), invalid, zstd},
		{"recomp_algorithm", "algo=zstd(dict=a)", invalid, zstd},
		{"recomp_algorithm", "algo=lz4", ok, both},
		{"comp_algorithm", strings.Repeat("x", longestName), long, lz4},
		{"comp_algorithm", strings.Repeat("x", longestName-1), invalid, lz4},
		{"comp_algorithm", "zstd(dict=a)", invalid, lz4},
		{"comp_algorithm", "raw", ok, "adaptive page page:dense lz4 lz4:fast zstd [raw] \n"},
		{"algorithm_params", "deflate.winbits=x", invalid, ""},
		{"algorithm_params", "priority=4", invalid, ""},
		{"algorithm_params", "priority=3 level=5", ok, ""},
		{"algorithm_params", "priority=2 level=7", ok, ""},
		{"algorithm_params", "algo=zstd dict=a", invalid, ""},
		{"max_comp_streams", "whatever", ok, "4\n"},
		{"mem_limit", "x", invalid, "0\n"},
		{"mem_limit", "1M", ok, "1048576\n"},
		{"mem_limit", "0", ok, "0\n"},
		{"mem_used_max", "1", invalid, ""},
		{"mem_used_max", "x", invalid, ""},
		{"mem_used_max", "0", ok, ""},
		{"compact", "1", ok, ""},
		{"idle", "x", invalid, ""},
		{"idle", "-1", invalid, ""},
		{"idle", "1000", ok, ""},
		{"recompress", "type=huge priority=3", invalid, ""},
		{"recompress", "type=huge_idle", ok, ""},
		{"backing_dev", "/a", fuse.EBUSY, "/a/path\n"},
		{"writeback_limit", "x", invalid, "0\n"},
		{"writeback_limit", "70000", ok, "70000\n"},
		{"writeback_limit_enable", "x", invalid, "0\n"},
		{"writeback_limit_enable", "2", ok, "1\n"},
		{"writeback_limit_enable", "0", ok, "0\n"},
		{"writeback", "x", invalid, ""},
		{"writeback", "page_index=1024", fuse.ERANGE, ""},
		{"writeback", "page_indexes=1-1024", fuse.ERANGE, ""},
		{"size", "", 0, "8192\n"},
		{"initstate", "", 0, "1\n"},
		{"disksize", "8M", fuse.EBUSY, "4194304\n"},
		{"reset", "x", invalid, ""},
	} {
		before := *a.chosen.Load()
		if f.find(deviceNode, c.name).attribute.set != nil {
			if got := writeAttribute(f, c.name, c.text); got != c.want {
				t.Errorf("%s > %s: %v, want %v", c.text, c.name, got, c.want)
			}
		}
		if !c.want.Ok() && *a.chosen.Load() != before {
			t.Errorf("%s > %s, which is refused, changes the settings to %+v", c.text, c.name, a.chosen.Load())
		}
		if c.shows != "" {
			if got := readAttribute(t, f, c.name, pageSize); got != c.shows {
				t.Errorf("after %s %s shows %q, want %q", c.text, c.name, got, c.shows)
			}
		}
	}
	if level := a.chosen.Load().Recompression[1]; level != "zstd(level=7)" {
		t.Errorf("the second algorithm is %q", level)
	}
	if st := f.store.Stats(); st.MemUsedMax != st.MemUsedTotal {
		t.Errorf("the peak is %d, in use are %d", st.MemUsedMax, st.MemUsedTotal)
	}
}

// A device without a size shows nothing stored, and takes no order about pages.
func TestAttributesOfNoDevice(t *testing.T) {
	f, _ := newTestDevice(t, Config{Store: newStore(t, store.Config{Disksize: 4 << 20}), Uninitialised: true, SetBacking: func(uint64, string) error { return nil }})
	for name, want := range map[string]string{"disksize": "0\n", "size": "0\n", "initstate": "0\n", "backing_dev": "none\n"} {
		if got := readAttribute(t, f, name, pageSize); got != want {
			t.Errorf("%s shows %q, want %q", name, got, want)
		}
	}
	if got := strings.Fields(readAttribute(t, f, "mm_stat", pageSize)); got[2] != "0" {
		t.Errorf("memory is used: %q", got)
	}
	for name, want := range map[string]fuse.Status{
		"compact": fuse.EINVAL, "idle": fuse.EINVAL, "recompress": fuse.EINVAL, "writeback": fuse.EINVAL, "backing_dev": fuse.ENOENT,
	} {
		if got := writeAttribute(f, name, ""); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := writeAttribute(f, "backing_dev", "/a"); !got.Ok() {
		t.Errorf("backing_dev: %v", got)
	}
	if _, _, err := f.find(deviceNode, "block_state").attribute.stream(cursor{}, 0, pageSize); err != syscall.EINVAL {
		t.Errorf("block_state: %v", err)
	}
}

// The attributes that may take long are these: requests for others do not wait for them, and the
// kernel takes each that is opened for a file of its own, of the same inode number.
func TestLongAttributes(t *testing.T) {
	f, a := newTestDevice(t, Config{Store: newStore(t, store.Config{Disksize: 4 << 20}), Add: func(uint64) (int, error) { return 0, nil }, Remove: func(uint64, int) error { return nil }})
	var long []string
	unique := uint64(1) << 40 // after a trillion requests
	for _, attribute := range a.all() {
		if attribute.long {
			long = append(long, attribute.name)
		}
		n, numbers := f.find(attribute.dir, attribute.name), map[uint64]bool{}
		for range 2 {
			var out fuse.EntryOut
			unique += 2
			if got := f.Lookup(nil, &fuse.InHeader{NodeId: attribute.dir, Unique: unique}, attribute.name, &out); !got.Ok() || f.node(out.NodeId) != n || out.Ino != n.id {
				t.Errorf("%s has the number %x and the inode %d: %v", attribute.name, out.NodeId, out.Ino, got)
			}
			numbers[out.NodeId] = true
			if asked := out.EntryTimeout() == 0; asked != attribute.long {
				t.Errorf("%s is looked up each time: %v", attribute.name, asked)
			}
		}
		if attribute.long != (len(numbers) == 2) {
			t.Errorf("%s has the numbers %v", attribute.name, numbers)
		}
	}
	if want := []string{"backing_dev", "compact", "recompress", "writeback", "hot_add", "hot_remove"}; !slices.Equal(long, want) {
		t.Errorf("%q, want %q", long, want)
	}
}
