// SPDX-License-Identifier: Apache-2.0

// Command gpucheck measures a GPU: whether its results equal the CPU's, and how fast it is. It runs
// steps; each prints findings, one JSON object a line. gpu/check.sh runs it once for each step, so
// that a step that hangs or dies stops no other, and prints all findings as a table at the end.
//
//	gpucheck -list
//	gpucheck -steps kernels,bulk -pages pages.zpg
//	gpucheck -table findings.jsonl -json findings.json
//
// It is built with the tag cuda (make build-cuda's) and needs only NVIDIA's driver to run. With
// -simulated it does the same on a simulated device with little data: that tests the steps; the
// figures mean nothing.
//
// A finding names its criterion, if it has one. A target that is missed is reported and is no
// failure, because targets depend on the machine. A wrong result is a failure: the step ends with
// an error, and the exit status is 1. Wrong usage is 2.
//
// # Pages
//
// Generated ones by default, as package internal/pages mixes them, without pages of one repeated
// word, because batches never hold those. All are different. Pages of a file (-pages, see
// tools/pagesample) are repeated as often as needed.
//
// Sizes are in bytes, GB are 10^9 bytes, and GB/s count bytes of pages in either direction. One
// goroutine does everything except the workers that a step starts.
package main
