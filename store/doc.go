// SPDX-License-Identifier: Apache-2.0

/*
Package store keeps the pages of a device compressed in a flat memory image.

The image lies in one file in memory (type Memory) and holds no pointer, only
offsets: there is nothing in it for the garbage collector, a snapshot is a copy,
and Open carries on from what another process left.

	superblock | renewals | same-filled words | presence bitmap | index | segment 0 | 1 | ... | ages

The index has one 8-byte entry a page, loaded and stored atomically, and is the
only truth. A write places the object (header and compressed bytes) in fresh space,
publishes the entry, then frees the object that the old entry named. A read loads
the entry, proves the object by its checksum, and decompresses it. Free lists and
counters are derived and can be rebuilt from the index. The ages of pages, see age.go, are hints.

# Segments

Memory comes and goes in segments. Each worker appends to one of its own, so
that the objects of a burst lie together and die together; compaction reclaims the
gaps between live objects.

	          grow              takeSegment            full
	void -------------> ready -------------> open -------------> sealed
	 ^                    ^                                     |    ^ |
	 | release    recycle |        last object freed            |    | | evacuate
	 +------------------ empty <--------------------------------+    | v
	                                                               moving

A segment that compaction cannot empty, because a flipped bit hides an object,
becomes stuck until its objects are recounted; see recount.

The maintainer moves void, ready, empty and moving segments; packing looks at the objects of moving
ones. The worker that fills a segment moves it from open. The worker that frees the last object, or
that seals a segment without any, makes it empty. Segments that Open finds are unswept; the
maintainer sweeps and seals them, or a writer that replaces an entry that points there. State and
live bytes are one word: a compare-and-swap decides which of two moves wins, and fails if the
segment was in use again between load and swap.

# Concurrency

Reads take no lock: grace.go says what keeps an object in place under them. A read
whose object fails its checksum looks again under the page's lock before it calls
the page corrupt. A writer changes an entry under its page's lock, one of 1024, which
neighbours have in common; a whole page is compressed and placed before the lock
is taken. The lock order is: a worker, Store.passMu, a page's lock, Store.mu,
sameTable.mu. A request that has a worker may wait for the maintainer, and the
holder of a page's lock may wait for readers, so the maintainer only tries for
workers and for page locks.

# Other processes

Package store/view reads the image of a store at work from another process:
lock-free, by copies that prove themselves. Put takes a page that another process
has compressed and sealed, and publishes it as a write is.

# Background

The maintainer raises the ages of pages, see age.go, and gives pages of the index back that hold
nothing, see index_back.go. Recompress replaces objects by smaller ones: it
works on a copy of an object and publishes the new one only if the page still has that object, under
the page's lock, so that a page which a request has written in between stays. A Clusterer does so
with pages that lie side by side and gives them one object, a cluster; see cluster.go. In a full
store both go by segment, with a ready one that writes leave to them: a segment whose pages were
packed is empty, and is theirs or a write's next.

# Backing device

WriteBack moves objects to a backing device and leaves a stub for each, a small object that names
a block; see backing.go. Only the blocks of the device are new to the store: a stub is published,
moved and freed as an object is, and the block is free once its stub is freed. A write that dies
at any instant leaves the page with its object or with its stub, which is published after the
device has the block. A block is encrypted with a key that is not in the image, see Secret, and
bound to its page; see sealing.go.

# Limits

A write that finds no memory, because of Config.MemLimit or because the machine
has none, waits for two passes of the maintainer that began after it, up to a second,
and then fails with ErrFull. Waiting writes leave two workers free for reads: where
too many wait already, a further write to a full store fails at once. All wait longer
where Config.Relief says that room is being made, on a backing device; with FullStall those
that may wait do so until pages are freed, for up to half a minute. The maintainer
takes and maps space for objects and for the index ahead of the page path, which
therefore makes no system call and meets no page fault; running out of memory is an
error, never a signal.

# Invariants

Check proves these, by these numbers:

 1. The superblock is intact and says the geometry in use.
 2. An entry is possible, and only in index pages that the bitmap and its twins say
    exist.
 3. An object names its page, or the first page that a cluster is for and those
    that it has; length and codec; its checksum holds, and it decompresses to each
    page that refers to it.
 4. Each object lies in an open or sealed segment, whole, and overlaps no other.
 5. A segment's count of live bytes is the sum over its objects, and the count of tails that over
    all segments.
 6. Freed objects and unused space are clear.
 7. Each segment is in exactly one state and in that state's list, something appends
    to each open one, and the memory counted is the memory that the file takes.
 8. The same-filled table's references are those of the index.
 9. The counters are those of the index.
 10. A stub names a block that the backing device has, no other stub names it, and
    the blocks that are taken are those that stubs name.

The build tag invariants adds: an object is decompressed and compared before it
is published, and freed space is filled with 0xCC.
*/
package store
