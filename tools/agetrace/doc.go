// SPDX-License-Identifier: Apache-2.0

// Command agetrace records what a kernel does with the pages of a block device, such as a device
// that is swap:
//
//	agetrace -device loop0 -seconds 600 -keep 8 -o FILE
//
// It reads the kernel's tracepoint block:block_bio_queue, from an instance of its own, and needs
// root and a mounted tracefs (/sys/kernel/tracing). FILE is text in gzip, a line for each request
// and run of pages:
//
//	SECONDS OPERATION PAGE PAGES
//
// SECONDS is since the line before, in whole ones. OPERATION is w, r or d: written, read, or
// discarded. PAGE is the first of them, less that of the line before, and PAGES is how many there
// are. Lines that begin with # are remarks. With -keep N the file has one of N groups of eight
// neighbours, chosen by a hash of their place, so that it is smaller and neighbours stay together.
//
// The directory workloads has programs to record. They run in a virtual machine, whose file system
// image.sh makes; package integration/guest boots it and records:
//
//	tools/agetrace/image.sh .cache/ages.ext4
//	ZRAMFS_BINARY=$PWD/bin/zramfs go test ./integration/guest -run TestRecordAges -machines \
//		-ages-image $PWD/.cache/ages.ext4 -ages-out DIR -v -timeout 2h
//
// The tests of internal/idlework replay such files, which lie in its testdata/ages.
package main
