// SPDX-License-Identifier: Apache-2.0

/*
Package ring serves FUSE over io_uring (Linux 6.14), in Go alone: no cgo, and
unsafe only where the memory of a ring is laid out.

The kernel has a queue for each CPU that there can be. A request goes to the queue
of the CPU on which the asking thread runs, into one of the entries registered
there: a head and a payload buffer of ours. The thread that submitted the entry
last is the one that gets it. It answers in the same buffers with one submission,
which also lends the entry again; what it has to submit goes in the same system
call as its next wait.

So there is one worker for each CPU that is online: a thread bound there, with an
io_uring of its own. A request that stays on its CPU takes about half the time of
one that has to wake another; but whoever asks for much from one CPU, as the loop
driver's worker does, would be answered by one thread. Therefore workers share:
an idle one is woken when another's backlog is long, takes from its end, and
submits the answer in its own ring. The entry has moved with that, and the next
request in it will arrive there; it goes home with the first request that finds its
home idle.

Nothing is allocated for a request, and no lock is shared by all workers (a
backlog's is its worker's, and the thieves').

# The end

The rings end with the connection: abort, umount, or the last close of /dev/fuse.
A process that dies otherwise leaves a connection that does not work any more: the
requests on their way to it are lost, and their askers wait until the connection is
aborted. FUSE_NOTIFY_RESEND does not know them. But a process can end without loss,
see [Rings.Drain] and [Rings.Adopt].
*/
package ring
