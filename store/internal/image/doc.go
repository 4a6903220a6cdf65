// SPDX-License-Identifier: Apache-2.0

/*
Package image knows the bytes of a memory image: where everything lies, what an
entry, an object's header and the superblock say, and how each is proved. It is
the only package with offsets into the image and with unsafe views of it; package
store changes an image through it, and store/view reads that of another process.

	0          superblock          a quarter of a page
	1 KiB      errors              count, first and last time of each kind
	2 KiB      renewals            one 8-byte count for each set of same-filled words
	4 KiB      same-filled words   SameWords times a word and its complement
	36 KiB     presence bitmap     one bit for each index page, rounded up to a page
	...        index               one 8-byte Entry for each page of the device
	...        segments            SegmentSize each, aligned to it
	...        ages                one byte for each page, in the place of the last segments

Everything in an image is an offset or a number: no layout type holds a pointer,
and a test walks the types to prove it. All integers are little-endian. An image
never leaves its machine, and amd64 and arm64 are both little-endian.

Nothing here takes a lock. The package comment of store says when each byte may be
read and changed.
*/
package image
