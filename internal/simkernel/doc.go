// SPDX-License-Identifier: Apache-2.0

/*
Package simkernel is a machine on which one seed decides everything: which task runs next and for
how many statements, what time it is, what the kernel's queue of requests hands out, which system
call finds no memory, and when a process dies.

The simulation compiles the production sources of store and fusefs against it. tools/simulate
rewrites them on the way to the compiler (go build -overlay): their locks, timers, goroutines,
channel operations and system calls become those of this package, and each statement begins with
Step. The sources themselves know nothing of it, and a release has nothing of it.

# Tasks

A task is a goroutine of a Process. One task runs at a time; at a Step, or where it waits, it hands
over to another one that the seed chooses among those that can go on. A task that waits has a
condition, which the scheduler evaluates. When no task can go on, the clock jumps to the next
timer; when there is none either, the run fails: it is a deadlock.

# Death

A process dies between two statements of any of its tasks. Its tasks end at once, deferred functions
run without effect on locks, and files in memory stay as they are: as after SIGKILL.

# Concurrency

There is one World at a time. All functions are for tasks, but for those that say otherwise; they
need no locks, since one task runs at a time. A task must not wait for anything outside the world.
*/
package simkernel
