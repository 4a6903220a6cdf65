// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strconv"
	"strings"
)

// MemoryPressure is the share of the last ten seconds, in per cent, in which tasks waited for
// memory (Documentation/accounting/psi.rst).
type MemoryPressure struct {
	Some float64 // at least one task waited
	Full float64 // all tasks that were not idle waited
}

// MemoryPressure returns the pressure of the machine; false where the kernel does not tell.
func (r Root) MemoryPressure() (p MemoryPressure, known bool) {
	text, err := r.Read("proc/pressure/memory")
	if err != nil {
		return p, false
	}
	some, known := averageOf(text, "some")
	full, _ := averageOf(text, "full")
	return MemoryPressure{Some: some, Full: full}, known
}

// Pressure returns MemoryPressure.Some.
func (r Root) Pressure() (percent float64, known bool) {
	p, known := r.MemoryPressure()
	return p.Some, known
}

// ProcessorPressure returns the share of the last ten seconds, in per cent, in which a task waited
// for a processor; false where the kernel does not tell.
func (r Root) ProcessorPressure() (percent float64, known bool) {
	text, err := r.Read("proc/pressure/cpu")
	if err != nil {
		return 0, false
	}
	return averageOf(text, "some")
}

// averageOf returns the number after avg10= in the line that begins with name.
func averageOf(text, name string) (float64, bool) {
	_, rest, _ := strings.Cut(text, name+" avg10=")
	value, _, _ := strings.Cut(rest, " ")
	percent, err := strconv.ParseFloat(value, 64)
	return percent, err == nil
}
