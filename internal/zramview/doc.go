// SPDX-License-Identifier: Apache-2.0

// Package zramview runs a command that takes a zramfs device for a zram of the kernel.
//
// The command sees, in a mount namespace of its own,
//
//	/dev                     the machine's nodes, and zram0, the loop device on the data file
//	/sys/block               the machine's devices, and zram0 with what is in DIR/block/zram0
//	/sys/dev/block           how programs get from a node's number to its attributes
//	/sys/class/zram-control  hot_add and hot_remove of DIR/control, where the device has them
//
// and none of the kernel's own zram devices. Programs of util-linux find a device's attributes by
// the number of its node (st_rdev), so the number of the loop device leads to zram0 there.
//
// # Processes
//
// [Run] starts the command by way of this program ([Enter]), which mounts all that in the new mount
// namespace and then executes the command: the command has its process, terminal and process group.
// The process that called Run serves the directories below /sys, a FUSE file system that no other
// mount namespace has, until the command ends. Each access to DIR is made by package aside with a
// time limit, so a device that does not answer costs an error. The last process of the namespace
// takes all its mounts with it; nothing has to be unmounted.
//
// The attributes stay those of the device: this package only follows what they change. A write to
// disksize or reset gives the loop device its new size, and hot_add makes a node. That is why the
// directories are served rather than bind-mounted.
//
// An attribute that the device lacks and its loop device has, such as size or queue, is a symbolic
// link to the loop device's.
package zramview
