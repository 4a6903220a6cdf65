// SPDX-License-Identifier: Apache-2.0

// Package criteria reads and updates the table of docs/criteria.md.
//
// A row has four cells: an ID, the claim, the judges, and the state. Judges are names of tests,
// fuzz targets and benchmarks in backticks; a name that ends in * stands for all that begin so. A
// judge after the words "in part" proves less than the claim: its failure fails the row, its
// success changes nothing. [Table.Update] takes the states from the output of go test -json:
//
//	every judge passed    survived
//	a judge failed        failed: the names
//	a judge was skipped   open: not run here: the reason
//
// Rows whose judges did not all run, and rows without such judges, keep their state, as do rows
// that say survived already and still do. The package is for tools/criteria and the tests of the
// tree; no program imports it.
package criteria
