// SPDX-License-Identifier: Apache-2.0

// Command gpucheck finds out what a GPU does: whether its results are the CPU's, and how fast. It
// runs steps, each of which prints findings, a JSON object a line; gpu/check.sh calls it once for
// each step, so that one that hangs or dies takes no other with it, and prints them all as a table
// at the end.
//
//	gpucheck -list
//	gpucheck -steps kernels,bulk -pages pages.zpg
//	gpucheck -table findings.jsonl -json findings.json
//
// It is built with the tag cuda (make build-cuda's), and needs nothing else where it runs but
// NVIDIA's driver. With -simulated it does the same, with little data, on a simulated device: that
// shows that the steps are right, and its figures mean nothing.
//
// A finding has a criterion where it is one of the project's; one that was wanted and not reached
// says so and is no failure, since what is wanted depends on the machine. A result that is wrong is
// one: the step ends with an error, and the exit status is 1. Wrong usage is 2.
//
// # What the pages are
//
// Generated ones by default, as package internal/pages mixes them, without those that are one word
// repeated, since whoever makes batches passes them by. All are different. Those of a file (-pages,
// see tools/pagesample) are repeated as often as it takes.
//
// Sizes are in bytes, GB are 10^9 bytes and GB/s count bytes of pages, whichever way. Everything
// but the workers that a step starts is one goroutine's.
package main
