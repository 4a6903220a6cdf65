// SPDX-License-Identifier: Apache-2.0

package imaging

// An ImportReport says what was imported; its JSON is what import --json prints.
type ImportReport struct {
	File string `json:"file"`
	Dir  string `json:"dir"`
	// Pages is how many FILE has, Same how many of them are filled with one word, Zeros how many of
	// those with zeros.
	Pages uint64 `json:"pages"`
	Same  uint64 `json:"same_pages"`
	Zeros uint64 `json:"zero_pages"`
	// ObjectBytes is the size of the objects of the others.
	ObjectBytes uint64  `json:"object_bytes"`
	Seconds     float64 `json:"seconds"`
	GBPerSecond float64 `json:"gb_per_second"` // of pages
	WorkReport
}
