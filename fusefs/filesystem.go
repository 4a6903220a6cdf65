// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zramfs/zramfs/store"
)

var _ fuse.RawFileSystem = (*fileSystem)(nil)

const (
	// kept is how long the kernel may cache names and attributes: none changes while the device is
	// there, and asking would delay a page fault.
	kept = 24 * time.Hour
	// attributeSize is the st_size of an attribute file, as in sysfs.
	attributeSize = 4096
	// sector is the unit of st_blocks, independent of the block size.
	sector = 512
)

// A fileSystem answers the kernel's requests. go-fuse calls it from many goroutines. The embedded
// RawFileSystem answers unimplemented requests with ENOSYS, which makes the kernel stop sending
// them.
type fileSystem struct {
	fuse.RawFileSystem

	store        *store.Store         // immutable
	size         uint64               // of the data file, bytes; immutable
	tree         tree                 // immutable
	extraDevices func() ExtraDevices  // the other devices of DIR; immutable
	owner        fuse.Owner           // of every node; immutable
	mounted      time.Time            // every node's times; immutable
	logf         func(string, ...any) // immutable
	complaint    atomic.Int64         // second of the last log line on an unknown error
	snapshots    snapshots            // has its own lock
	pressure     *pressure            // has its own lock
	closed       atomic.Bool          // the data file cannot be opened: it is about to lose its contents
	left         sync.Map             // numbers of the requests that a successor answers
	long         atomic.Int32         // requests for attributes under way that may take long
	maxLong      int32                // one fewer than there are threads; immutable
}

// newFileSystem makes the file system of one of a device's trees.
func newFileSystem(cfg Config, t tree) *fileSystem {
	size := cfg.Store.Disksize()
	if cfg.Uninitialised {
		size = 0
	}
	return &fileSystem{
		RawFileSystem: fuse.NewDefaultRawFileSystem(),
		store:         cfg.Store,
		size:          size,
		tree:          t,
		extraDevices:  func() ExtraDevices { return 0 },
		owner:         fuse.Owner{Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid())},
		mounted:       time.Now(),
		logf:          cfg.Logf,
		maxLong:       attributeThreads - 1,
		pressure:      new(pressure),
	}
}

// String names the file system in go-fuse's messages.
func (f *fileSystem) String() string { return typeName }

// Lookup finds a name in a directory.
func (f *fileSystem) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	n := f.find(in.NodeId, name)
	if n == nil {
		return fuse.ENOENT
	}
	out.NodeId = n.id
	switch {
	case n.attribute.long:
		out.NodeId += in.Unique << aliasShift
	case n.target == "": // a link goes with its device
		out.SetEntryTimeout(kept)
	}
	out.SetAttrTimeout(kept)
	f.fill(n, &out.Attr)
	return fuse.OK
}

// GetAttr answers stat.
func (f *fileSystem) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	n := f.node(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	out.SetTimeout(kept)
	f.fill(n, &out.Attr)
	return fuse.OK
}

// SetAttr accepts and forgets changes of times and refuses all others. Another size of the data
// file is EINVAL, as when truncating a block device. Opening it with O_TRUNC (as cp, dd and a
// shell's > do) changes nothing, again as with a block device.
func (f *fileSystem) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	n := f.node(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	if mode, ok := in.GetMode(); ok && mode != n.mode&^syscall.S_IFMT {
		return fuse.EPERM
	}
	if uid, ok := in.GetUID(); ok && uid != f.owner.Uid {
		return fuse.EPERM
	}
	if gid, ok := in.GetGID(); ok && gid != f.owner.Gid {
		return fuse.EPERM
	}
	if size, ok := in.GetSize(); ok && size != f.sizeOf(n) && !truncatingOpen(in) {
		return fuse.EINVAL
	}
	out.SetTimeout(kept)
	f.fill(n, &out.Attr)
	return fuse.OK
}

// truncatingOpen reports whether the request may come from open(2) with O_TRUNC. ftruncate(2) has a
// handle, but truncate(2) to 0 looks the same, so that succeeds without effect as well.
func truncatingOpen(in *fuse.SetAttrIn) bool {
	return in.Size == 0 && in.Valid&fuse.FATTR_FH == 0
}

// fill writes a node's attributes.
func (f *fileSystem) fill(n *node, out *fuse.Attr) {
	*out = fuse.Attr{
		Ino:     n.id,
		Size:    f.sizeOf(n),
		Mode:    n.mode,
		Nlink:   f.tree.links(n),
		Owner:   f.owner,
		Blksize: pageSize,
	}
	if n.isData() && f.size > 0 {
		out.Blocks = f.store.Stats().OrigDataSize / sector
	}
	out.SetTimes(&f.mounted, &f.mounted, &f.mounted)
}

func (f *fileSystem) sizeOf(n *node) uint64 {
	switch {
	case n.isData():
		return f.size
	case n.isAttribute():
		return attributeSize
	case n.target != "":
		return uint64(len(n.target))
	}
	return 0
}

// Open makes the snapshot that a handle on an attribute file reads; connection.count counts handles
// on the data file. All I/O bypasses the page cache. Opening an attribute for what it does not do,
// reading or writing, is refused even to root, as in sysfs.
func (f *fileSystem) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n := f.node(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	if n.isData() {
		if f.closed.Load() {
			return fuse.EBUSY
		}
		out.OpenFlags |= fuse.FOPEN_PARALLEL_DIRECT_WRITES
		return fuse.OK
	}
	if n.isDir() {
		return fuse.Status(syscall.EISDIR)
	}
	access := in.Flags & syscall.O_ACCMODE
	if access != syscall.O_RDONLY && n.attribute.set == nil || access != syscall.O_WRONLY && !n.attribute.readable() {
		return fuse.EACCES
	}
	// The request's number is unique among handles, including those of predecessors.
	out.Fh = in.Unique
	if access == syscall.O_WRONLY || n.attribute.show == nil {
		return fuse.OK
	}
	return f.snapshot(n, &in.InHeader, in.Unique)
}

// Release ends a handle.
func (f *fileSystem) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	f.snapshots.remove(in.Fh)
	f.pressure.forget(in.Fh)
}

// OpenDir lets any directory be listed.
func (f *fileSystem) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	if n := f.node(in.NodeId); n == nil || !n.isDir() {
		return fuse.ENOTDIR
	}
	return fuse.OK
}

// ReadDir lists a directory, starting at an earlier entry's offset.
func (f *fileSystem) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	n := f.node(in.NodeId)
	if n == nil || !n.isDir() {
		return fuse.ENOTDIR
	}
	entries := f.entries(n)
	for i := in.Offset; i < uint64(len(entries)); i++ {
		entries[i].Off = i + 1
		if !out.AddDirEntry(entries[i]) {
			break
		}
	}
	return fuse.OK
}

// StatFs returns the number of pages and of empty pages. The loop driver takes the block size for
// its discard granularity.
func (f *fileSystem) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	pages := f.size / pageSize
	free := pages - min(pages, f.store.Stats().OrigDataSize/pageSize)
	*out = fuse.StatfsOut{
		Blocks: pages, Bfree: free, Bavail: free,
		Bsize: pageSize, Frsize: pageSize,
		Files:   uint64(len(f.tree) - 1),
		NameLen: 255,
	}
	return fuse.OK
}
