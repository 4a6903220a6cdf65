// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// newTestFileSystem is what Mount serves, to be called without a kernel.
func newTestFileSystem(tb testing.TB, size uint64) *fileSystem {
	tb.Helper()
	f, _ := newTestDevice(tb, Config{Store: newStore(tb, store.Config{Disksize: size})})
	return f
}

func newTestDevice(tb testing.TB, cfg Config) (*fileSystem, *attributes) {
	tb.Helper()
	algorithm, err := codec.Parse("lz4")
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Algorithm, cfg.Logf = algorithm, tb.Logf
	loops := attribute{dir: controlNode, name: "loops", mode: hidden, show: func() ([]byte, error) { return nil, nil }}
	all := &attributes{cfg: cfg, loops: loops, streams: 4, inFlight: func() int { return 0 }, opens: func() int { return 0 }, stopping: func() bool { return false },
		keep: func(Settings) error { return nil }, pressure: &pressure{notify: func(uint64) {}}}
	all.chosen.Store(&Settings{})
	f := newFileSystem(cfg, attributeTree(all.all()))
	f.pressure = all.pressure
	return f, all
}

func newStore(tb testing.TB, cfg store.Config) *store.Store {
	tb.Helper()
	lz4, err := codec.Parse("lz4")
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Algorithm = lz4
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := store.Create(memory, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(checked(s), s.Close(), memory.Close()); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// withWorker carries out one request.
func withWorker(f *fileSystem, request func(*store.Worker) (int, syscall.Errno)) (int, syscall.Errno) {
	w := f.store.Acquire()
	defer w.Release()
	return request(w)
}

func writeData(f *fileSystem, off uint64, data []byte) (int, syscall.Errno) {
	return withWorker(f, func(w *store.Worker) (int, syscall.Errno) { return f.write(w, off, data) })
}

func fallocateData(f *fileSystem, mode uint32, off, n uint64) syscall.Errno {
	_, errno := withWorker(f, func(w *store.Worker) (int, syscall.Errno) { return 0, f.fallocate(w, mode, off, n) })
	return errno
}

// readData reads through a request of its own.
func readData(t *testing.T, f *fileSystem, off uint64, n int) []byte {
	t.Helper()
	buf := make([]byte, n)
	got, errno := withWorker(f, func(w *store.Worker) (int, syscall.Errno) { return f.read(w, off, buf) })
	if errno != 0 {
		t.Fatalf("read %d+%d: %v", off, n, errno)
	}
	return buf[:got]
}

// TestWriteToTheEnd writes up to and across the end.
func TestWriteToTheEnd(t *testing.T) {
	const size = 4 * pageSize
	f := newTestFileSystem(t, size)
	all := make([]byte, size)
	for i := range all {
		all[i] = byte(i * i >> 7)
	}
	for _, c := range []struct {
		off, n, taken int
		want          syscall.Errno
	}{
		{0, 8293, 8293, 0},
		{5000, 3193, 3193, 0},
		{size - 10, 16, 10, 0},
		{size - 10, 10, 10, 0},
		{size, 1, 0, syscall.ENOSPC},
	} {
		got, errno := writeData(f, uint64(c.off), all[:c.n])
		if got != c.taken || errno != c.want {
			t.Errorf("write %d at %d: %d, %v; want %d, %v", c.n, c.off, got, errno, c.taken, c.want)
		}
		if got := readData(t, f, uint64(c.off), c.taken); !bytes.Equal(got, all[:c.taken]) {
			t.Errorf("write %d at %d reads otherwise", c.n, c.off)
		}
	}
}

// TestFallocateModes asks for every mode, at the edges of the device.
func TestFallocateModes(t *testing.T) {
	const size = 4 * pageSize
	const (
		keep  = unix.FALLOC_FL_KEEP_SIZE
		punch = unix.FALLOC_FL_PUNCH_HOLE
		zero  = unix.FALLOC_FL_ZERO_RANGE
	)
	f := newTestFileSystem(t, size)
	full := bytes.Repeat([]byte("full"), size/4)
	for _, c := range []struct {
		mode    uint32
		off, n  uint64
		want    syscall.Errno
		cleared int // bytes from off on
	}{
		{punch | keep, 0, size, 0, size},
		{punch | keep, 4095, 4098, 0, 4098},
		{punch | keep, 10, 20, 0, 20},
		{punch | keep, size - 10, 1 << 40, 0, 10},
		{punch | keep, size - 10, 1<<64 - 1, 0, 10},
		{punch | keep, size, 1, syscall.EINVAL, 0},
		{zero | keep, 4096, 4096, 0, 4096},
		{zero | keep, size - 1, 2, 0, 1},
		{zero, 100, 8192, 0, 8192},
		{zero, size - 1, 2, syscall.EINVAL, 0},
		{zero, size, 1, syscall.EINVAL, 0},
		{0, 0, size, 0, 0},
		{0, 0, size + 1, syscall.EFBIG, 0},
		{keep, 0, size, 0, 0},
		{keep, size, 1, syscall.EFBIG, 0},
		{punch, 0, 4096, syscall.EOPNOTSUPP, 0},
		{unix.FALLOC_FL_COLLAPSE_RANGE, 0, 4096, syscall.EOPNOTSUPP, 0},
		{unix.FALLOC_FL_INSERT_RANGE, 0, 4096, syscall.EOPNOTSUPP, 0},
		{unix.FALLOC_FL_UNSHARE_RANGE, 0, 4096, syscall.EOPNOTSUPP, 0},
	} {
		if _, errno := writeData(f, 0, full); errno != 0 {
			t.Fatal(errno)
		}
		if got := fallocateData(f, c.mode, c.off, c.n); got != c.want {
			t.Errorf("fallocate %#x %d+%d: %v, want %v", c.mode, c.off, c.n, got, c.want)
		}
		want := bytes.Clone(full)
		clear(want[min(c.off, size):][:c.cleared])
		if !bytes.Equal(readData(t, f, 0, size), want) {
			t.Errorf("fallocate %#x %d+%d cleared something else", c.mode, c.off, c.n)
		}
	}
}

// TestPunchFreesPages frees whole pages and keeps the store's account of them.
func TestPunchFreesPages(t *testing.T) {
	const size = 64 * pageSize
	f := newTestFileSystem(t, size)
	if _, errno := writeData(f, 0, bytes.Repeat([]byte("some"), size/4)); errno != 0 {
		t.Fatal(errno)
	}
	if errno := fallocateData(f, punchHole, 100, 10*pageSize); errno != 0 {
		t.Fatal(errno)
	}
	if got := f.store.Stats().OrigDataSize; got != size-9*pageSize {
		t.Errorf("%d bytes are stored, want %d", got, size-9*pageSize)
	}
}

// TestReadDirInPieces lists with room for one entry at a time.
func TestReadDirInPieces(t *testing.T) {
	f := newTestFileSystem(t, pageSize)
	var got []string
	for off := uint64(0); ; {
		buf := make([]byte, 48)
		list := fuse.NewDirEntryList(buf, off)
		in := &fuse.ReadIn{InHeader: fuse.InHeader{NodeId: deviceNode}, Offset: off}
		if status := f.ReadDir(nil, in, list); !status.Ok() {
			t.Fatal(status)
		}
		entries, err := fuse.ParseDirEntries(list.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			got = append(got, e.Name)
			off = e.Off
		}
	}
	want := []string{".", ".."}
	for _, n := range f.tree {
		if n.isAttribute() && n.parent == deviceNode {
			want = append(want, n.name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
}

// TestBlocksOfTheDataFile wants du(1) to count the pages that have data.
func TestBlocksOfTheDataFile(t *testing.T) {
	f := newTestFileSystem(t, 1<<20)
	if _, errno := writeData(f, 4*pageSize, varied(3*pageSize, 1)); errno != 0 {
		t.Fatal(errno)
	}
	f.tree = dataTree()
	for id, want := range map[uint64]uint64{dataNode: 3 * pageSize / 512, rootNode: 0} {
		var out fuse.AttrOut
		if got := f.GetAttr(nil, &fuse.GetAttrIn{InHeader: fuse.InHeader{NodeId: id}}, &out); got != fuse.OK || out.Blocks != want {
			t.Errorf("node %d has %d blocks, want %d: %v", id, out.Blocks, want, got)
		}
	}
}

// TestUnknownNodes asks for inodes that are not there.
func TestUnknownNodes(t *testing.T) {
	f := newTestFileSystem(t, pageSize)
	for _, id := range []uint64{0, uint64(len(f.tree)), 1 << 60} {
		header := fuse.InHeader{NodeId: id}
		for what, got := range map[string]fuse.Status{
			"lookup":  f.Lookup(nil, &header, "dev", &fuse.EntryOut{}),
			"getattr": f.GetAttr(nil, &fuse.GetAttrIn{InHeader: header}, &fuse.AttrOut{}),
			"open":    f.Open(nil, &fuse.OpenIn{InHeader: header}, &fuse.OpenOut{}),
		} {
			if got != fuse.ENOENT {
				t.Errorf("%s of inode %d: %v, want ENOENT", what, id, got)
			}
		}
		if _, status := f.Read(nil, &fuse.ReadIn{InHeader: header}, nil); status != fuse.EBADF {
			t.Errorf("read of inode %d: %v, want EBADF", id, status)
		}
	}
}

// TestSnapshotsGo opens attributes and closes them again: nothing is kept.
func TestSnapshotsGo(t *testing.T) {
	f := newTestFileSystem(t, pageSize)
	header := fuse.InHeader{NodeId: f.tree.lookup(deviceNode, "mm_stat").id}
	var handles []uint64
	for range 10 {
		var out fuse.OpenOut
		header.Unique += 2
		if status := f.Open(nil, &fuse.OpenIn{InHeader: header}, &out); !status.Ok() {
			t.Fatal(status)
		}
		handles = append(handles, out.Fh)
	}
	for _, handle := range handles {
		f.Release(nil, &fuse.ReleaseIn{InHeader: header, Fh: handle})
	}
	if len(f.snapshots.held) != 0 {
		t.Errorf("%d snapshots kept", len(f.snapshots.held))
	}
}

// Contents that cannot be made are an error, and logged.
func TestFailedShowIsLogged(t *testing.T) {
	f, _ := newTestDevice(t, Config{
		Store:  newStore(t, store.Config{Disksize: pageSize}),
		Status: func([]string) ([]byte, error) { return nil, errors.New("nothing to say") },
	})
	var logs logBook
	f.logf = logs.add
	header := fuse.InHeader{NodeId: f.tree.lookup(controlNode, "status").id}
	for _, user := range []uint32{f.owner.Uid, f.owner.Uid + 1000} {
		header.Uid = user
		if status := f.snapshot(f.node(header.NodeId), &header, 7); status != fuse.EIO {
			t.Errorf("user %d: %v", user, status)
		}
	}
	if got := logs.all(); !slices.Equal(got, []string{"read status: nothing to say", "read status: nothing to say"}) {
		t.Errorf("logged %q", got)
	}
	if n := len(f.snapshots.held) + len(f.snapshots.user) + f.snapshots.strangers.files; n != 0 {
		t.Errorf("%d are kept", n)
	}
}
