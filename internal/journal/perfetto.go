// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"fmt"
	"io"
)

// The Trace Event Format of Chrome, which ui.perfetto.dev opens: an object with a list of events.
// Complete events (ph X) have a time and a duration in microseconds, metadata (ph M) names tracks.
// The format is described at
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.

type chromeTrace struct {
	Events []chromeEvent `json:"traceEvents"`
	Unit   string        `json:"displayTimeUnit"`
}

type chromeEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Time     float64        `json:"ts"` // microseconds of Unix time
	Duration float64        `json:"dur"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// deviceTrack is the number of the process in a trace; its threads are the worker's.
const deviceTrack = 1

// WriteChrome writes operations of the device at dir as a Chrome trace, with a track for each of
// the worker's threads.
func WriteChrome(w io.Writer, dir string, all []Operation) error {
	trace := chromeTrace{Unit: "ns", Events: []chromeEvent{
		{Name: "process_name", Phase: "M", Process: deviceTrack, Args: map[string]any{"name": "zramfs " + dir}},
	}}
	named := map[int]bool{}
	for _, o := range all {
		if !named[o.Thread] {
			named[o.Thread] = true
			trace.Events = append(trace.Events, chromeEvent{Name: "thread_name", Phase: "M", Process: deviceTrack, Thread: o.Thread + 1,
				Args: map[string]any{"name": fmt.Sprintf("worker thread %d", o.Thread)}})
		}
		trace.Events = append(trace.Events, o.chrome())
	}
	return json.NewEncoder(w).Encode(trace)
}

// chrome returns the operation as a complete event.
func (o Operation) chrome() chromeEvent {
	args := map[string]any{"page": o.Page, "pages": o.Pages}
	if o.Codec != "" {
		args["codec"], args["stored"] = o.Codec, o.Stored
	}
	if o.Error != "" {
		args["error"] = o.Error
	}
	return chromeEvent{
		Name: o.Op, Category: "zramfs", Phase: "X", Process: deviceTrack, Thread: o.Thread + 1, Args: args,
		Time: float64(o.Time.UnixNano()/1000) + float64(o.Time.UnixNano()%1000)/1000, Duration: float64(o.Nanoseconds) / 1000,
	}
}
