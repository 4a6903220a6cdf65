// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"strings"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/store"
)

// An Operation is a request for pages as JSON shows it. Sizes are bytes.
type Operation struct {
	// Time is when the worker received it.
	Time time.Time `json:"time"`
	// Thread is the number of the worker's thread, from 0.
	Thread int `json:"thread"`
	// Op is read, write, discard or flush.
	Op string `json:"op"`
	// Page is the number of the first page, and Pages how many there were.
	Page  uint64 `json:"page"`
	Pages int    `json:"pages"`
	// Codec is the format in which the pages are stored, "same" for same-filled ones, "mixed" where
	// they differ, and empty where none is stored.
	Codec string `json:"codec"`
	// Stored is the size of the pages compressed.
	Stored uint32 `json:"stored"`
	// Nanoseconds is the time until the answer was sent.
	Nanoseconds int64 `json:"ns"`
	// Error is what the request ended in, and empty where it succeeded.
	Error string `json:"error"`
}

// newOperation puts names to an entry.
func newOperation(t telemetry.Trace) Operation {
	o := Operation{Time: t.Began.UTC(), Thread: t.Slot, Op: t.Op.String(), Page: t.Page, Pages: t.Pages, Codec: codecName(t.Stored.Codec),
		Stored: t.Stored.Bytes, Nanoseconds: t.Took.Nanoseconds()}
	if t.Errno != 0 {
		o.Error = t.Errno.Error()
	}
	return o
}

// codecName returns what a trace's number of a codec stands for.
func codecName(n uint8) string {
	switch id := codec.ID(n); id {
	case store.MetNothing:
		return ""
	case store.MetMixed:
		return "mixed"
	case store.MetSame:
		return "same"
	default:
		return id.String()
	}
}

// Operations returns the last n operations after the cursor, the oldest first, and moves it on; n 0
// is all. lost is how many were overwritten before they could be read.
func Operations(a *telemetry.Area, c *telemetry.Cursor, n int) (all []Operation, lost uint64) {
	traces, lost := a.Traces(c)
	if n > 0 && len(traces) > n {
		traces = traces[len(traces)-n:]
	}
	all = make([]Operation, len(traces))
	for i, t := range traces {
		all[i] = newOperation(t)
	}
	return all, lost
}

// columns are those of a table of operations. Their widths are fixed, so that lines which are
// printed one after the other stand below each other.
const columns = "%-15s  %6s  %-7s  %10s  %5s  %-10s  %8s  %10s  %s\n"

// Heading is the first line of a table.
func Heading() string {
	return tidy(fmt.Sprintf(columns, "RECEIVED", "THREAD", "OP", "PAGE", "PAGES", "CODEC", "STORED", "TOOK/us", "ERROR"))
}

// Line is the operation as a line of a table.
func (o Operation) Line() string {
	stored := ""
	if o.Codec != "" {
		stored = fmt.Sprint(o.Stored)
	}
	return tidy(fmt.Sprintf(columns, o.Time.Local().Format("15:04:05.000000"), fmt.Sprint(o.Thread), o.Op, fmt.Sprint(o.Page),
		fmt.Sprint(o.Pages), o.Codec, stored, fmt.Sprintf("%.1f", float64(o.Nanoseconds)/1e3), o.Error))
}

// tidy removes blanks at the end of a line.
func tidy(line string) string { return strings.TrimRight(line, " \n") + "\n" }
