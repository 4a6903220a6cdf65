// SPDX-License-Identifier: Apache-2.0

// Command codecbench compares our codecs with liblz4 and other compression libraries, on sampled
// pages, in one process.
//
//	codecbench [-rounds N | -time 40s] [-codecs WORDS] [-only PROGRAMS] [-programs] [...]
//	codecbench -criteria [-against REPORT]
//
// It is a module of its own, so that nothing else needs cgo or the other libraries. It needs a C
// compiler, liblz4 with its header, and a file of real pages (tools/pagesample).
//
// # How it is measured
//
// One thread does everything. A round takes some hundred pages, spread evenly over the sample, and
// every contestant compresses those and decompresses its objects, in a random order, with liblz4
// several times in between. A contestant's figure in a round is its speed over liblz4's in that
// round; the printed figure is the median over the rounds, so that a slow moment of the machine
// affects few rounds and both sides of them. Time is the thread's processor time, which excludes
// most of the effect of other programs. Trust the ratios, and those to about 2 %; megabytes a
// second are of this machine at this moment.
//
// The calls of liblz4 are made in C, a whole round in one call from Go, so that its figure excludes
// the cost of cgo.
//
// Latency is measured apart, a page at a time, with a clock that goes on while the thread waits;
// the time that two readings of that clock take is subtracted.
//
// Lines that end in "of liblz4" are our decoder on liblz4's objects; those that end in "clusters"
// compress four neighbours of the sample together and read each back alone. The sample holds every
// n-th page of a program, so neighbours in it are not neighbours in memory, and clusters look worse
// here than they are.
//
// # What is counted
//
// Same-filled pages are left out everywhere: the store does not compress them and they would
// flatter every figure. The ratio is the bytes of all other pages over the sum of their objects,
// each counted as at most 4096 bytes. It is taken over the whole sample. In the same pass every
// object is decompressed and compared, liblz4 reads every LZ4 object of ours, and every LZ4 decoder
// of ours reads liblz4's; a difference ends the run.
//
// Our codecs are selected by the names that users write. A name that this version does not know, or
// an instruction set that this machine lacks, is left out with a line that says so.
//
// # Criteria
//
// With -criteria it judges the claims of docs/criteria.md on speed, each relative to liblz4 in the
// same run: the speed and latency of each instruction set on real pages and on a mixture of zeros,
// text and noise; no regression against the report of the last release (last.json, written with
// -json); and on real pages adaptive's levels, caches and scaling.
//
// Adaptive is judged at its levels between the ends. It is compared with the random mix of page and
// page:dense that takes the same time, including the scan, and with an oracle that knows the bytes
// and the time of every page and takes the same time too. The oracle's times are measured, and it
// takes their noise for knowledge, so it is a little better than possible. ZRAMFS_PAGES names a
// file of other programs to judge with.
package main
