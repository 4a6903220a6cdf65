// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Inode numbers of the attribute tree's directories; those of the files follow.
const (
	rootNode uint64 = fuse.FUSE_ROOT_ID + iota
	devNode         // the data tree's mount point
	blockNode
	deviceNode
	controlNode
)

// dataNode is the data file's inode number, in a tree of its own.
const dataNode = rootNode + 1

// A node is a directory, the data file, or an attribute file. It is immutable.
type node struct {
	id, parent uint64
	name       string
	mode       uint32                 // type and permissions, as st_mode
	show       func() ([]byte, error) // returns an attribute's contents; nil for other nodes
	set        func([]byte) error     // sets an attribute; nil for read-only nodes
}

// A tree holds every node, indexed by inode number; number 0 is none. It is immutable.
type tree []node

const directoryMode = syscall.S_IFDIR | 0o755

// attributeTree returns the directories and these attribute files.
func attributeTree(attributes []attribute) tree {
	t := tree{
		{},
		{id: rootNode, parent: rootNode, mode: directoryMode},
		{id: devNode, parent: rootNode, name: "dev", mode: directoryMode},
		{id: blockNode, parent: rootNode, name: "block", mode: directoryMode},
		{id: deviceNode, parent: blockNode, name: "zram0", mode: directoryMode},
		{id: controlNode, parent: rootNode, name: "control", mode: directoryMode},
	}
	for _, a := range attributes {
		mode := uint32(syscall.S_IFREG | 0o444)
		if a.set != nil {
			mode = syscall.S_IFREG | 0o600
		}
		t = append(t, node{id: uint64(len(t)), parent: a.dir, name: a.name, mode: mode, show: a.show, set: a.set})
	}
	return t
}

// dataTree returns a directory with the data file in it.
func dataTree() tree {
	return tree{
		{},
		{id: rootNode, parent: rootNode, mode: directoryMode},
		{id: dataNode, parent: rootNode, name: "zram0", mode: syscall.S_IFREG | 0o600}, // swap holds secrets
	}
}

// get returns the node with this inode number, or nil.
func (t tree) get(id uint64) *node {
	if id == 0 || id >= uint64(len(t)) {
		return nil
	}
	return &t[id]
}

// lookup returns the node of this name in a directory, or nil.
func (t tree) lookup(dir uint64, name string) *node {
	for i := range t {
		if n := &t[i]; n.parent == dir && n.name == name && n.id != dir {
			return n
		}
	}
	return nil
}

// list returns a directory's entries, "." and ".." included, in a fixed order.
func (t tree) list(dir *node) []fuse.DirEntry {
	entries := []fuse.DirEntry{
		{Name: ".", Ino: dir.id, Mode: dir.mode},
		{Name: "..", Ino: dir.parent, Mode: syscall.S_IFDIR},
	}
	for i := range t {
		if n := &t[i]; n.parent == dir.id && n.id != dir.id {
			entries = append(entries, fuse.DirEntry{Name: n.name, Ino: n.id, Mode: n.mode})
		}
	}
	return entries
}

// links returns a node's st_nlink: a directory has its name, "." and the ".." of each directory in
// it.
func (t tree) links(n *node) uint32 {
	if !n.isDir() {
		return 1
	}
	links := uint32(2)
	for i := range t {
		if child := &t[i]; child.parent == n.id && child.id != n.id && child.isDir() {
			links++
		}
	}
	return links
}

// isData reports whether it is the data file: the only file without contents to show.
func (n *node) isData() bool { return !n.isDir() && n.show == nil }

func (n *node) isDir() bool { return n.mode&syscall.S_IFMT == syscall.S_IFDIR }
