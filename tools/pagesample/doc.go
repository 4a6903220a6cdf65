// SPDX-License-Identifier: Apache-2.0

// Command pagesample samples memory pages of real programs into a file that tests
// and benchmarks work on (package pagefile holds the format).
//
//	go run ./tools/pagesample [-o FILE] [-max-pages N] [-only NAME,NAME]
//
// It starts those of its programs that the machine has (Python, the Go tool, a C
// compiler, Node.js, Java, Perl, awk, SQLite, git), each on a small generated
// workload, waits until the program holds tens of megabytes, stops its process
// group, copies a sample of its memory, and kills it. Everything together takes
// under a minute.
//
// The sample has the pages that a swap device would be given: resident anonymous pages that
// belong to one process. Pages of files, pages that lie in swap and the kernel's shared zero page
// are left out. If a program has more pages than are needed, every n-th is taken, over all its
// processes and all its memory.
//
// The programs get an environment of PATH, HOME and TMPDIR alone, the last two
// naming a directory made for the run and removed after it, so that the file holds
// nothing of the person who runs this. Only processes that this program started
// are stopped, read or killed. Root is not needed, because a process may read the
// memory of its own children, unless kernel.yama.ptrace_scope is 2 or 3.
package main
