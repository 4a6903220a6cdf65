// SPDX-License-Identifier: Apache-2.0

/*
Package ring serves FUSE over io_uring (Linux 6.14), in Go alone: no cgo, and unsafe only where the
memory of a ring is laid out.

The kernel has a queue for each possible CPU. A request goes to the queue of the CPU on which the
requesting thread runs, into one of the entries registered there: a head and a payload buffer of
ours. The thread that submitted the entry last gets the request. It answers in the same buffers with
one submission, which also lends the entry again, in the same system call as its next wait.

There is one worker for each CPU that is online: a thread bound there, with an io_uring of its own.
A request that stays on its CPU takes about half the time of one that has to wake another. But many
requests from one CPU, as the loop driver's worker makes them, would all be answered by one thread.
Therefore workers share: when a worker's backlog is long it wakes an idle one, which takes requests
from the backlog's end and submits the answers in its own ring. The entry moves with that, and its
next request will arrive there; it goes home with the first request that finds its home idle.

A request allocates nothing, and workers share no lock except that of a backlog from which others
take.

# The end

The rings end with the connection: abort, umount, or the last close of /dev/fuse. A process that
dies otherwise leaves an unusable connection: requests on their way to it are lost, and their
callers wait until the connection is aborted. FUSE_NOTIFY_RESEND does not cover them. But a process
can end without loss, see [Rings.Drain] and [Rings.Adopt].
*/
package ring
