// SPDX-License-Identifier: Apache-2.0

// Package pagescan looks at one page and says what can be known of it without compressing it.
//
// [SameFilled] finds the pages that need no object at all: 4 to 12 % of the anonymous memory of
// real programs is one 8-byte word repeated, and most of that is zeros.
//
// [Scan] counts four features of an eighth of the page's bytes. From them a [Chooser] estimates,
// before either codec has run, which pages a denser codec would save most on, for where it cannot
// have all. Trying the faster codec first and looking at the size would cost that codec's time for
// each page that goes to the other. A Chooser learns while it works; how much it gains, and what
// was tried instead, is in docs/lab/tried.md.
//
// [Entropy] is the estimate that the adaptive:entropy rule chooses by. On real pages it predicts
// the compressed size poorly, and it takes a third as long as an LZ4 compression.
//
// The functions read only their argument, keep nothing and allocate nothing, so any number of
// goroutines may call them. SameFilled and Scan exist in Go and, as package impl describes, in
// assembly for some machines; all give the same answers. The caller must not let the page change
// while it is read: a scan of a changing page describes no state that it had.
package pagescan
