// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// TestServedSeek looks for holes and data around what was written, and at the ends.
func TestServedSeek(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	f := d.open(os.O_RDWR)
	for _, page := range []int64{2, 3, 900} {
		if _, err := f.WriteAt(bytes.Repeat([]byte("data"), pageSize/4), page*pageSize); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 3*pageSize, pageSize); err != nil {
		t.Fatal(err)
	}
	const none = -1
	for _, c := range []struct {
		whence   int
		from, at int64
	}{
		{unix.SEEK_DATA, 0, 2 * pageSize}, {unix.SEEK_DATA, 2*pageSize + 7, 2*pageSize + 7}, {unix.SEEK_DATA, 3 * pageSize, 900 * pageSize},
		{unix.SEEK_DATA, 901 * pageSize, none}, {unix.SEEK_DATA, smallDisk, none}, {unix.SEEK_HOLE, smallDisk, none},
		{unix.SEEK_HOLE, 0, 0}, {unix.SEEK_HOLE, 5, 5}, {unix.SEEK_HOLE, 2 * pageSize, 3 * pageSize}, {unix.SEEK_HOLE, 900*pageSize + 1, 901 * pageSize},
		{unix.SEEK_HOLE, smallDisk - 1, smallDisk - 1}, {unix.SEEK_END, 0, smallDisk}, {unix.SEEK_SET, 5, 5},
	} {
		at, err := unix.Seek(int(f.Fd()), c.from, c.whence)
		if c.at == none && !errors.Is(err, unix.ENXIO) || c.at != none && (err != nil || at != c.at) {
			t.Errorf("seek(%d, whence %d) is %d (%v), want %d", c.from, c.whence, at, err, c.at)
		}
	}
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_ZERO_RANGE, 0, smallDisk); err != nil {
		t.Fatal(err)
	}
	if at, err := unix.Seek(int(f.Fd()), 0, unix.SEEK_DATA); !errors.Is(err, unix.ENXIO) {
		t.Errorf("an empty device has data at %d (%v)", at, err)
	}
}

// Other nodes than the data file have no holes.
func TestSeekElsewhere(t *testing.T) {
	f := newTestFileSystem(t, pageSize)
	for _, id := range []uint64{0, rootNode, f.tree.lookup(deviceNode, "mm_stat").id, 1 << 60} {
		in := &fuse.LseekIn{InHeader: fuse.InHeader{NodeId: id}, Whence: unix.SEEK_HOLE}
		if got := f.Lseek(nil, in, &fuse.LseekOut{}); got != fuse.ENOSYS {
			t.Errorf("node %d: %v", id, got)
		}
	}
}

// TestServedSharedMapping maps the data file shared, and wants what is written through the mapping
// and through handles, the page cache's API and around it, to be the same bytes.
func TestServedSharedMapping(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	plain, direct := d.open(os.O_RDWR), d.open(os.O_RDWR|unix.O_DIRECT)
	mem, err := unix.Mmap(int(plain.Fd()), 0, smallDisk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if errors.Is(err, unix.ENODEV) && !kernelMapsDirectIO(t) {
		t.Skip("this kernel does not map files of direct I/O shared")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	}()
	buf := aligned(t, pageSize)
	for i, f := range []*os.File{plain, direct} {
		for round := range 20 {
			at := int64(i*100+round) * pageSize
			copy(mem[at:], bytes.Repeat([]byte{byte(round + 1)}, pageSize))
			if _, err := f.ReadAt(buf, at); err != nil || !bytes.Equal(buf, mem[at:at+pageSize]) {
				t.Fatalf("handle %d, round %d: what the mapping wrote reads as %d (%v)", i, round, buf[0], err)
			}
			copy(buf, bytes.Repeat([]byte{byte(round + 101)}, pageSize))
			if _, err := f.WriteAt(buf, at); err != nil {
				t.Fatal(err)
			}
			if mem[at] != byte(round+101) || mem[at+pageSize-1] != byte(round+101) {
				t.Fatalf("handle %d, round %d: the mapping has %d after a write of %d", i, round, mem[at], round+101)
			}
		}
	}
	if err := unix.Msync(mem, unix.MS_SYNC); err != nil {
		t.Fatal(err)
	}
}

// kernelMapsDirectIO reports whether the kernel is Linux 6.6 or later.
func kernelMapsDirectIO(t *testing.T) bool {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return major > 6 || major == 6 && minor >= 6
}
