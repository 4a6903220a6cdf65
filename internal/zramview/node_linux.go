// SPDX-License-Identifier: Apache-2.0

package zramview

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zramfs/zramfs/internal/helper"
)

// sysfsFile is the size that sysfs gives its files, in bytes.
const sysfsFile = 4096

// errnoOf returns the error number of a failure; that of a device that does not answer is
// ETIMEDOUT.
func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.Is(err, helper.ErrNoAnswer):
		return syscall.ETIMEDOUT
	case errors.As(err, &errno):
		return errno
	}
	return syscall.EIO
}

// modeOf returns type and permissions as st_mode has them.
func modeOf(m fs.FileMode) uint32 {
	mode := uint32(m.Perm())
	switch m.Type() {
	case fs.ModeDir:
		return mode | syscall.S_IFDIR
	case fs.ModeSymlink:
		return mode | syscall.S_IFLNK
	}
	return mode | syscall.S_IFREG
}

// directory is a directory whose contents are made anew for each request.
type directory struct {
	gofs.Inode
	list func() ([]entry, error)
}

var (
	_ gofs.NodeReaddirer = (*directory)(nil)
	_ gofs.NodeLookuper  = (*directory)(nil)
	_ gofs.NodeGetattrer = (*directory)(nil)
)

// Getattr implements gofs.NodeGetattrer.
func (*directory) Getattr(_ context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode = syscall.S_IFDIR | 0o755
	return 0
}

// Readdir implements gofs.NodeReaddirer.
func (d *directory) Readdir(context.Context) (gofs.DirStream, syscall.Errno) {
	entries, err := d.list()
	if err != nil {
		return nil, errnoOf(err)
	}
	out := make([]fuse.DirEntry, 0, len(entries))
	for _, e := range entries {
		if !e.unlisted {
			out = append(out, fuse.DirEntry{Name: e.name, Mode: modeOf(e.mode)})
		}
	}
	return gofs.NewListDirStream(out), 0
}

// Lookup implements gofs.NodeLookuper.
func (d *directory) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	entries, err := d.list()
	if err != nil {
		return nil, errnoOf(err)
	}
	for _, e := range entries {
		if e.name != name {
			continue
		}
		out.Mode, out.Size = modeOf(e.mode), e.size()
		return d.NewInode(ctx, e.node(), gofs.StableAttr{Mode: out.Mode & syscall.S_IFMT}), 0
	}
	return nil, syscall.ENOENT
}

// node returns what serves the entry.
func (e entry) node() gofs.InodeEmbedder {
	switch {
	case e.dir != nil:
		return &directory{list: e.dir}
	case e.target != "":
		return &link{target: e.target}
	}
	return &file{entry: e}
}

// size returns st_size.
func (e entry) size() uint64 {
	switch {
	case e.dir != nil:
		return 0
	case e.target != "":
		return uint64(len(e.target))
	}
	return sysfsFile
}

// link is a symbolic link.
type link struct {
	gofs.Inode
	target string
}

var _ gofs.NodeReadlinker = (*link)(nil)

// Readlink implements gofs.NodeReadlinker.
func (l *link) Readlink(context.Context) ([]byte, syscall.Errno) { return []byte(l.target), 0 }

// Getattr implements gofs.NodeGetattrer.
func (l *link) Getattr(_ context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = syscall.S_IFLNK|0o777, uint64(len(l.target))
	return 0
}

// file is an attribute.
type file struct {
	gofs.Inode
	entry entry
}

var (
	_ gofs.NodeOpener    = (*file)(nil)
	_ gofs.NodeGetattrer = (*file)(nil)
	_ gofs.NodeSetattrer = (*file)(nil)
)

// Getattr implements gofs.NodeGetattrer.
func (f *file) Getattr(_ context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = modeOf(f.entry.mode), sysfsFile
	return 0
}

// Setattr implements gofs.NodeSetattrer: shells truncate a file that they write to.
func (f *file) Setattr(ctx context.Context, h gofs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if _, resized := in.GetSize(); !resized {
		return syscall.EPERM
	}
	return f.Getattr(ctx, h, out)
}

// Open implements gofs.NodeOpener.
func (f *file) Open(context.Context, uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	return &openFile{entry: f.entry}, fuse.FOPEN_DIRECT_IO, 0
}

// openFile is an open attribute. Its later reads continue the text of the first one.
type openFile struct {
	entry entry
	once  sync.Once
	text  []byte
	errno syscall.Errno
}

var (
	_ gofs.FileReader = (*openFile)(nil)
	_ gofs.FileWriter = (*openFile)(nil)
)

// Read implements gofs.FileReader.
func (o *openFile) Read(_ context.Context, buffer []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	o.once.Do(func() {
		if o.entry.read == nil {
			o.errno = syscall.EIO // as sysfs has it
			return
		}
		var err error
		o.text, err = o.entry.read()
		o.errno = errnoOf(err)
	})
	if o.errno != 0 {
		return nil, o.errno
	}
	rest := o.text[min(max(offset, 0), int64(len(o.text))):]
	return fuse.ReadResultData(rest[:min(len(rest), len(buffer))]), 0
}

// Write implements gofs.FileWriter: each write is a change of its own, as in sysfs.
func (o *openFile) Write(_ context.Context, text []byte, _ int64) (uint32, syscall.Errno) {
	if o.entry.write == nil {
		return 0, syscall.EIO
	}
	if err := o.entry.write(text); err != nil {
		return 0, errnoOf(err)
	}
	return uint32(len(text)), 0
}
