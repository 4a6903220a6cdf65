// SPDX-License-Identifier: Apache-2.0

// Package pages provides the memory pages that tests and benchmarks work on.
//
// Generated pages come from code with fixed seeds: the same bytes on every
// machine, for tests that must run anywhere. They imitate one kind of memory
// each and exaggerate it, so a compression ratio measured on them says nothing
// about a real machine. [Real] pages are sampled from programs by
// tools/pagesample; published figures must come from them. They differ from machine
// to machine.
//
// The package is for tests and tools alone. Programs that only need the file of
// real pages use pagefile.
package pages
