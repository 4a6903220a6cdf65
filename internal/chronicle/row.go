// SPDX-License-Identifier: Apache-2.0

// Package chronicle keeps what devices did over the last 15 minutes in memory, a row a second at
// the most.
//
// A Chronicle may be used by several goroutines.
package chronicle

import (
	"math"
	"time"
)

// A Field is a column of a Row.
type Field int

// The fields. Sizes are in bytes, rates per second, times in seconds; Pressure is in per cent, CPU
// in processors.
const (
	SwapUsed Field = iota
	SwapSize
	Stored
	Compressed
	Memory
	Processes
	Saved
	PagesIn
	PagesOut
	ReadP50
	ReadP99
	WriteP50
	WriteP99
	CPU
	Pressure
	Problems // how many there are
	Fields   // the number of fields
)

// names are those in JSON.
var names = [Fields]string{"swap_used", "swap_size", "stored", "compressed", "memory", "processes", "saved", "pages_in", "pages_out",
	"read_p50", "read_p99", "write_p50", "write_p99", "cpu", "pressure", "problems"}

// String is the field's name in JSON.
func (f Field) String() string { return names[f] }

// Names returns the names of all fields, in their order.
func Names() []string { return names[:] }

// A Row is a device at a time. NaN is an unknown value.
type Row struct {
	Time   time.Time
	Values [Fields]float32
}

// NewRow returns a row without values.
func NewRow(at time.Time) Row {
	r := Row{Time: at}
	for i := range r.Values {
		r.Values[i] = float32(math.NaN())
	}
	return r
}

// Set sets the value of a field.
func (r *Row) Set(f Field, v float64) { r.Values[f] = float32(v) }
