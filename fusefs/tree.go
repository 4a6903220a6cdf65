// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Inode numbers of the attribute tree's directories; those of the files follow. The kernel goes on
// using a number that it has looked up, also after an upgrade of the worker: a number stands for
// one file in all versions. See firstFiles.
const (
	rootNode uint64 = fuse.FUSE_ROOT_ID + iota
	devNode         // the data tree's mount point
	blockNode
	deviceNode
	controlNode
)

// firstFiles are the files of the first version, in the order of their numbers. The others follow
// devicesNode.
var firstFiles = []string{"disksize", "initstate", "comp_algorithm", "mem_limit", "mem_used_max", "mm_stat", "io_stat", "status", "loops"}

// devicesNode has the mount points of extra devices.
const devicesNode = controlNode + 10

// aliasShift is where the bits begin that node numbers have above those of inodes. For a file on
// which a request may take long they are of the request that has looked it up: the kernel lets a
// write, and an open that truncates, wait for the other writes to an inode, also where the process
// is killed. So each open of the file is of an inode of its own, with the same st_ino.
const aliasShift = 32

// dataNode is the data file's inode number, in a tree of its own.
const dataNode = rootNode + 1

// A node is a directory, the data file, or an attribute file. It is immutable.
type node struct {
	id, parent uint64
	name       string
	mode       uint32    // type and permissions, as st_mode
	target     string    // of a symbolic link, else empty
	attribute  attribute // of an attribute file, else empty
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
	file := func(a attribute) {
		t = append(t, node{id: uint64(len(t)), parent: a.dir, name: a.name, mode: syscall.S_IFREG | a.mode, attribute: a})
	}
	for _, name := range firstFiles {
		file(attributes[slices.IndexFunc(attributes, func(a attribute) bool { return a.name == name })])
	}
	t = append(t, node{id: devicesNode, parent: rootNode, name: "devices", mode: directoryMode})
	for _, a := range attributes {
		if !slices.Contains(firstFiles, a.name) {
			file(a)
		}
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

// list returns a directory's entries, "." and ".." included, in a fixed order, without the files
// that are found by name alone.
func (t tree) list(dir *node) []fuse.DirEntry {
	entries := []fuse.DirEntry{
		{Name: ".", Ino: dir.id, Mode: dir.mode},
		{Name: "..", Ino: dir.parent, Mode: syscall.S_IFDIR},
	}
	for i := range t {
		if n := &t[i]; n.parent == dir.id && n.id != dir.id && !n.attribute.unlisted {
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

// isData reports whether it is the data file: the only file that is no attribute.
func (n *node) isData() bool { return n.mode&syscall.S_IFMT == syscall.S_IFREG && !n.isAttribute() }

func (n *node) isAttribute() bool { return n.attribute.name != "" }

func (n *node) isDir() bool { return n.mode&syscall.S_IFMT == syscall.S_IFDIR }
