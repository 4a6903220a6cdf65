// SPDX-License-Identifier: Apache-2.0

// Command codecbench compares our codecs with liblz4 and with the compression libraries of others,
// on sampled pages, in one process.
//
//	codecbench [-rounds N | -time 40s] [-codecs WORDS] [-only PROGRAMS] [-without PROGRAMS] [-programs] [-json]
//	codecbench -criteria [-against REPORT]
//
// It is a module of its own, so that neither cgo nor what only it compares with is needed to build
// anything else. It needs a C compiler, liblz4 with its header, and a file of real pages
// (tools/pagesample).
//
// # How it is measured
//
// One thread does everything. A round takes some hundred pages, spread evenly over the sample, and
// every contestant compresses those and decompresses what it made, in an order drawn anew, liblz4
// several times in between. A contestant's figure in a round is its speed over liblz4's in that
// round; what is printed is the median over the rounds, so that a slow moment of the machine harms
// few rounds and both sides of them. Time is the thread's processor time, so that other programs
// take little part in it. Trust the ratios, and those to about 2 %; megabytes a second are of this
// machine at this moment.
//
// The calls of liblz4 are made in C, a whole round in one call from Go, so that its figure holds
// nothing of cgo.
//
// Latency is measured apart, a page at a time, with a clock that goes on while the thread waits;
// the time that two readings of that clock take is subtracted.
//
// What ends in "of liblz4" is our decoder over liblz4's objects; what ends in "clusters" compresses
// four neighbours of the sample together and reads each back alone. The sample holds every n-th
// page of a program, so that neighbours in it are not neighbours in memory, and clusters look worse
// here than they are.
//
// # What is counted
//
// Same-filled pages are left out everywhere: the store does not compress them and they would
// flatter every figure. The ratio is the bytes of all other pages over the sum of their objects, of
// which none counts for more than 4096 bytes. It is taken over the whole sample, whatever pages the
// rounds came to. In the same pass every object is decompressed and compared, liblz4 reads every
// LZ4 object of ours, and every LZ4 decoder of ours reads liblz4's; a difference ends the run.
//
// Our codecs are asked for by the names that users write. A name that this version does not know,
// or an instruction set that this machine lacks, is left out with a line that says so.
//
// # Criteria
//
// With -criteria it judges what the specification claims of speed, each claim beside liblz4 in the
// same run: F051 to F053 and F055 on real pages and on the mixture that the specification names,
// F060 against the report of the last release (last.json, which -json wrote), F057, F061, F062 and
// F063 on real pages.
//
// F057 takes adaptive's levels between the ends. The random mix of page and page:dense beside each
// is the one that takes as long as adaptive did, its scan included; the oracle knows the bytes and
// the time of every page, and takes as long too. Its times are measured, and what is noise in them
// it takes for knowledge, so that it is a little better than it could be. ZRAMFS_PAGES names a file
// of other programs to judge with.
package main
