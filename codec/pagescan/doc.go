// SPDX-License-Identifier: Apache-2.0

// Package pagescan looks at one page and says what can be known of it without compressing it.
//
// [SameFilled] finds the pages that need no object at all: 4 to 12 % of the anonymous memory of real programs is one
// 8-byte word repeated, and most of that is zeros.
//
// [Scan] counts four features of an eighth of the page's bytes, and a [Model] makes of them how many bytes a denser codec would
// save over a faster one. That is what decides, before either has run, which pages the denser codec should have when there is
// not time for all: a wrong choice costs an opportunity, where trying the fast codec first costs its time. How the
// features and the models were chosen, and how much of the gain of knowing all sizes they get, is in docs/performance.md.
//
// [Entropy] is the estimate that the adaptive:entropy rule chooses by; on real pages it predicts the compressed size poorly, and
// it takes a third of the time of an LZ4 compression.
//
// The functions read only their argument, keep nothing and allocate nothing, so any number of goroutines may call them. They
// exist in Go and, as package impl describes, in assembly for some machines; all give the same answers. The caller must not
// let the page change while it is read: a scan of a changing page describes no state that it had.
package pagescan
