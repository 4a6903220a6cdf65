// SPDX-License-Identifier: Apache-2.0

/*
Package store keeps the pages of a device compressed in a flat memory image.

The image lies in one file in memory (type Memory) and holds no pointer, only
offsets: there is nothing in it for the garbage collector, a snapshot is a copy,
and Open carries on from what another process left.

	superblock | renewals | same-filled words | presence bitmap | index | segment 0 | segment 1 | ...

The index has one 8-byte entry a page, loaded and stored atomically, and is the
only truth. A page in: its object (header and compressed bytes) is written to
fresh space, then the entry is published, then what it replaces is freed. A page
out: the entry, the object it points to, its checksum, its bytes. Free lists and
counters are derived and can be rebuilt from the index.

# Segments

Memory comes and goes in segments. Each worker appends to one of its own, so
that the objects of a burst lie together and die together; what is left between
the living is squeezed out by compaction.

	          grow              takeSegment            full
	void -------------> ready -------------> open -------------> sealed
	 ^                    ^                                     |    ^ |
	 | release    recycle |        last object freed            |    | | evacuate
	 +------------------ empty <--------------------------------+    | v
	                                                               moving

A segment that compaction cannot empty, because a flipped bit hides an object,
becomes stuck until its objects are recounted; see recount.

The maintainer moves void, ready, empty and moving; the worker that fills a
segment moves open; whoever frees the last object, or seals a segment without
any, makes it empty. What Open finds is unswept, and is sealed once it was swept, by
the maintainer or by whoever first wants to replace an entry that points there. State
and live bytes are one word, so that a compare-and-swap decides who, and cannot be
deceived by a segment that was in use again meanwhile.

# Concurrency

Reads take no lock: see grace.go for what keeps an object in place under them.
A read whose object fails its checksum looks again under the page's lock before
it is called corrupt. Whoever changes an entry holds its page's lock, one of
1024; a whole page is compressed and placed before the lock is taken. The lock
order is: a worker, Store.passMu, a page's lock, Store.mu, sameTable.mu. Who has a
worker may be waiting for the maintainer, and who holds a page's lock for the
readers of another, so that one only tries for either.

# Other processes

Package store/view reads the image of a store at work from another process:
lock-free, by copies that prove themselves. Put takes a page that another process
has compressed and sealed, and publishes it as a write is.

# Limits

A write that finds no memory, because of Config.MemLimit or because the machine
has none, waits for two passes of the maintainer that began after it, a second at
the most, and then fails with ErrFull. Two workers are never waited with, so that
reads go on: of a full store, a write beyond that is refused at once. Space, for
objects and for the index, is always taken and mapped beforehand and beside the page
path, which so makes no system call and meets no page fault; running out is an error,
never a signal.

# Invariants

Check proves these, by these numbers:

 1. The superblock is intact and says the geometry in use.
 2. An entry is possible, and only in index pages that the bitmap and its twin say
    exist.
 3. An object names its page, length and codec, its checksum holds, and it
    decompresses to one page.
 4. Each object lies in an open or sealed segment, whole, and overlaps no other.
 5. A segment's count of live bytes is the sum over its objects.
 6. Freed objects and unused space are clear.
 7. Each segment is in exactly one state and in that state's list, and the
    memory counted is the memory that the file takes.
 8. The same-filled table's references are those of the index.
 9. The counters are those of the index.

The build tag invariants adds: an object is decompressed and compared before it
is published, and freed space is filled with 0xCC.
*/
package store
