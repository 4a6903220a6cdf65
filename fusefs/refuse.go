// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// The tree is fixed. These methods answer EPERM, as sysfs does: ENOSYS would suggest that the
// kernel lacks the operation.

// Create refuses to make a file.
func (f *fileSystem) Create(<-chan struct{}, *fuse.CreateIn, string, *fuse.CreateOut) fuse.Status {
	return fuse.EPERM
}

// Tmpfile refuses to make a file without a name.
func (f *fileSystem) Tmpfile(<-chan struct{}, *fuse.CreateIn, *fuse.CreateOut) fuse.Status {
	return fuse.EPERM
}

// Mknod refuses to make a file or device.
func (f *fileSystem) Mknod(<-chan struct{}, *fuse.MknodIn, string, *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}

// Mkdir refuses to make a directory.
func (f *fileSystem) Mkdir(<-chan struct{}, *fuse.MkdirIn, string, *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}

// Symlink refuses to make a symbolic link.
func (f *fileSystem) Symlink(<-chan struct{}, *fuse.InHeader, string, string, *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}

// Link refuses to give a file another name.
func (f *fileSystem) Link(<-chan struct{}, *fuse.LinkIn, string, *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}

// Rename refuses to change a name.
func (f *fileSystem) Rename(<-chan struct{}, *fuse.RenameIn, string, string) fuse.Status {
	return fuse.EPERM
}

// Unlink refuses to remove a file.
func (f *fileSystem) Unlink(<-chan struct{}, *fuse.InHeader, string) fuse.Status {
	return fuse.EPERM
}

// Rmdir refuses to remove a directory.
func (f *fileSystem) Rmdir(<-chan struct{}, *fuse.InHeader, string) fuse.Status {
	return fuse.EPERM
}

// Ioctl refuses every command.
func (f *fileSystem) Ioctl(<-chan struct{}, *fuse.IoctlIn, []byte, *fuse.IoctlOut, []byte) fuse.Status {
	return fuse.Status(syscall.ENOTTY)
}

// Flush is called for each close(2) and has nothing to do: ENOSYS makes the kernel stop sending it.
func (f *fileSystem) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status {
	return fuse.ENOSYS
}
