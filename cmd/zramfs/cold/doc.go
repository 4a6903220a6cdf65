// SPDX-License-Identifier: Apache-2.0

// Package cold decides from which age on pages are cold, and packs cold pages tighter while the
// machine has time for it.
//
// A cold page is worth the time, since it will hardly be read soon. So the age from which on pages
// count as cold follows from the ages at which pages are read. It is the least one beyond
// which fewer than 0.2 % of the stored pages are read in a minute, as in Google's far memory
// (Lagar-Cavilla et al., Software-Defined Far Memory in Warehouse-Scale Computers, ASPLOS 2019).
// [Packer] finds it anew each minute, and recompresses what is older by page:dense, in pieces of
// half a millisecond, within a share of one processor, unless programs wait for processors or
// memory.
package cold
