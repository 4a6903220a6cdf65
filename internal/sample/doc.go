// SPDX-License-Identifier: Apache-2.0

// Package sample takes pages of 4096 bytes to measure: of processes, of a file, or generated. The
// commands bench, estimate and dict use it.
//
// A sample spreads evenly over its source. Of processes it has resident anonymous pages that belong
// to one process alone (see package procpages): reading them swaps nothing in.
package sample
