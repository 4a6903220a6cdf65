// SPDX-License-Identifier: Apache-2.0

// Package chronicle keeps what devices did over the last 24 hours: a point a second for 15 minutes,
// in memory, means of 10 seconds for 3 hours and of a minute for 24 hours, in a file of a fixed
// size. A record in the file has its place by its time and a checksum, so there is nothing that a
// crash could leave half done: a damaged record is a gap.
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
// in processors. Their numbers are part of the file format.
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

// largest reports whether a mean of the field would hide what matters: a longer step keeps the
// largest value.
func (f Field) largest() bool { return f == ReadP99 || f == WriteP99 || f == Problems }

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

// A gathering is the rows of one step that has not ended.
type gathering struct {
	at    int64 // number of the step
	sum   [Fields]float64
	count [Fields]int
}

// add adds a row of the step.
func (g *gathering) add(r Row) {
	for f, v := range r.Values {
		value := float64(v)
		switch {
		case math.IsNaN(value):
			continue
		case Field(f).largest():
			if g.count[f] == 0 || value > g.sum[f] {
				g.sum[f] = value
			}
			g.count[f] = 1
			continue
		}
		g.sum[f] += value
		g.count[f]++
	}
}

// row returns the step's row.
func (g *gathering) row(step time.Duration) Row {
	r := NewRow(time.Unix(g.at*int64(step/time.Second), 0))
	for f, n := range g.count {
		if n > 0 {
			r.Set(Field(f), g.sum[f]/float64(n))
		}
	}
	return r
}
