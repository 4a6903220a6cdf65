// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// A line is what is known of one contestant over one sample. Speeds are in MB/s, times in
// microseconds; what has an x is over liblz4's.
type line struct {
	Codec         string   `json:"codec"`
	Ours          bool     `json:"ours"`
	Reader        bool     `json:"reader,omitempty"` // decompresses what liblz4 compressed: nothing else is its own
	Ratio         float64  `json:"ratio"`
	RatioX        float64  `json:"ratio_x"`
	Pack          float64  `json:"compress_mb_s"`
	PackX         float64  `json:"compress_x"`
	Unpack        float64  `json:"decompress_mb_s"`
	UnpackX       float64  `json:"decompress_x"`
	PackLatency   *latency `json:"compress_us,omitempty"`
	UnpackLatency *latency `json:"decompress_us,omitempty"`
}

// A table is the figures over one sample.
type table struct {
	Sample string `json:"sample"`
	Pages  int    `json:"pages"`
	Same   int    `json:"same_filled"`
	Rounds int    `json:"rounds"`
	Lines  []line `json:"lines"`
}

// A report is one run.
type report struct {
	Library string  `json:"liblz4"`
	CPU     string  `json:"cpu"`
	Tables  []table `json:"tables"`
}

func writeJSON(out io.Writer, value any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// readReport reads what writeJSON wrote of a report to the file at path. Where there is no such
// file it returns nil.
func readReport(path string) (*report, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read last report: %w", err)
	}
	r := new(report)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read last report %s: %w", path, err)
	}
	return r, nil
}

func (r report) writeText(out io.Writer) {
	fmt.Fprintf(out, "%s; one thread, x = over Debian's liblz4 %s\n", r.CPU, r.Library)
	for _, t := range r.Tables {
		fmt.Fprintf(out, "\n%s: %d pages, besides %d same-filled; median of %d rounds of %d pages\n", t.Sample, t.Pages, t.Same, t.Rounds, roundPages)
		fmt.Fprintf(out, "%-29s %6s %6s  %9s %6s  %9s %6s  %13s  %13s\n", "", "ratio", "x", "compress", "x", "decompr.", "x", "compress us", "decompress us")
		fmt.Fprintf(out, "%-29s %6s %6s  %9s %6s  %9s %6s  %6s %6s  %6s %6s\n", "", "", "", "MB/s", "", "MB/s", "", "p50", "p99", "p50", "p99")
		for _, l := range t.Lines {
			l.write(out)
		}
	}
}

func (l line) write(out io.Writer) {
	fmt.Fprintf(out, "%-29s", l.Codec)
	if l.Reader {
		fmt.Fprintf(out, " %6s %6s  %9s %6s  %9.0f %6.3f\n", "", "", "", "", l.Unpack, l.UnpackX)
		return
	}
	fmt.Fprintf(out, " %6.3f %6.3f  %9.0f %6.3f  %9.0f %6.3f", l.Ratio, l.RatioX, l.Pack, l.PackX, l.Unpack, l.UnpackX)
	if l.PackLatency != nil {
		fmt.Fprintf(out, "  %6.2f %6.2f  %6.2f %6.2f", l.PackLatency.P50, l.PackLatency.P99, l.UnpackLatency.P50, l.UnpackLatency.P99)
	}
	fmt.Fprintln(out)
}
