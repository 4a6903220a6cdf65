// SPDX-License-Identifier: Apache-2.0

// Package idlework is what a device does by itself in time that no program wants: it packs pages
// tighter that are cold, and proves the checksums of all.
//
// A cold page is worth the time, since it will hardly be read soon. So the age from which on pages
// count as cold follows from the ages at which pages are read. It is the least one beyond which
// fewer than 0.2 % of the stored pages are read in a minute, as in Google's far memory
// (Lagar-Cavilla et al., Software-Defined Far Memory in Warehouse-Scale Computers, ASPLOS 2019).
// [Packer] finds it anew each minute, and joins what is older in clusters; each page by itself it
// recompresses by page:dense from two minutes on. A test replays traces of real programs against
// fixed ages, see docs/performance.md. [Scrubber] looks at each page once a day, so that damage is
// known before a program needs the page. Both work in pieces of half a millisecond, within a share
// of one processor, and wait while programs wait for processors or memory.
package idlework
