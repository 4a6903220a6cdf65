// SPDX-License-Identifier: Apache-2.0

package imageio

// An ImportReport says what was imported; its JSON is what import --json prints.
type ImportReport struct {
	File string `json:"file"` // the file
	Dir  string `json:"dir"`  // the device
	// Pages counts the pages of FILE, Same those of them filled with one word, Zeros those of Same
	// with the word 0.
	Pages uint64 `json:"pages"`
	Same  uint64 `json:"same_pages"`
	Zeros uint64 `json:"zero_pages"`
	// ObjectBytes is the size of the objects of all other pages.
	ObjectBytes uint64  `json:"object_bytes"`
	Seconds     float64 `json:"seconds"`       // the time that it took
	GBPerSecond float64 `json:"gb_per_second"` // of pages
	WorkReport
}
