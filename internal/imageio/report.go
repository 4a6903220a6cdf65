// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"fmt"
	"strings"
	"time"

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/term"
)

// A WorkReport says which engine did which part of bulk work. It is part of the reports, and of the
// JSON, of commands that do such work.
type WorkReport struct {
	Engines []engineReport `json:"engines"` // the CPU first
	// Fallbacks counts, by reason, pages that the CPU did although another engine was open; see
	// bulk.Reason.
	Fallbacks map[string]int `json:"fallbacks"`
	// Missing says which kinds of engine are missing, and why.
	Missing []string `json:"missing"`
	// Trouble lists errors of engines that did not stop the work: memory that could not be
	// registered, or a failed close.
	Trouble []string `json:"trouble"`
}

// engineReport is one engine's part. Times are in milliseconds, summed over an engine's stages;
// several pieces can be under way at once.
type engineReport struct {
	Name     string  `json:"name"`                // the name of the engine, cpu or a GPU
	Pages    int     `json:"pages"`               // with objects; other pages need no engine
	Share    float64 `json:"share"`               // of the pages of all engines, 0 to 1
	Pieces   int     `json:"pieces"`              // pieces of work that it did
	Ratio    float64 `json:"ratio"`               // pages to objects, by size
	Busy     float64 `json:"busy_ms"`             // with a piece at least; for the CPU the sum over its workers
	Speed    float64 `json:"mb_s"`                // 10^6 bytes of pages for each second of Busy
	H2D      float64 `json:"h2d_ms"`              // time of copying to it
	Kernel   float64 `json:"kernel_ms"`           // time of its kernels
	D2H      float64 `json:"d2h_ms"`              // time of copying back
	Worth    bool    `json:"computing_outweighs"` // the transfers, five to one
	Failures int     `json:"failures"`            // pieces that ended with an error; the CPU did them
	// LastError is the last of these errors, if any.
	LastError string `json:"last_error,omitempty"`
}

// report sums up the work so far.
func (s *runner) report() WorkReport {
	r := WorkReport{
		Engines: []engineReport{}, Fallbacks: map[string]int{}, Missing: append([]string{}, s.missing...), Trouble: append([]string{}, s.trouble...),
	}
	for i, name := range s.names {
		e := engineReport{Name: name}
		if i < len(s.sum.Engines) { // there has been a batch
			e.take(&s.sum.Engines[i])
			e.Share = s.sum.Share(name)
		}
		r.Engines = append(r.Engines, e)
	}
	for reason, n := range s.sum.Fallbacks {
		if n > 0 {
			r.Fallbacks[bulk.Reason(reason).String()] = n
		}
	}
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func (e *engineReport) take(from *bulk.EngineReport) {
	e.Pages, e.Pieces, e.Failures = from.Items, from.Pieces, from.Failures
	e.Ratio, e.Busy, e.Speed = from.Ratio(), milliseconds(from.Busy), from.BytesPerSecond()/1e6
	e.H2D, e.Kernel, e.D2H = milliseconds(from.Times.H2D), milliseconds(from.Times.Kernel), milliseconds(from.Times.D2H)
	e.Worth = from.Times.Outweighs()
	if from.Err != nil {
		e.LastError = term.OneLine(from.Err.Error())
	}
}

// Text returns a line for each engine, if any but the CPU is there, for missing kinds, and
// for trouble.
func (r WorkReport) Text() string {
	var out strings.Builder
	if len(r.Engines) > 1 {
		for i, e := range r.Engines {
			fmt.Fprintf(&out, "%s: %.0f%%, %s", e.Name, 100*e.Share, term.Plural(e.Pages, "page", "pages"))
			if i > 0 {
				fmt.Fprintf(&out, " in %s, %.0f MB/s; to it %.1f ms, computing %.1f ms, back %.1f ms", term.Plural(e.Pieces, "piece", "pieces"), e.Speed, e.H2D, e.Kernel, e.D2H)
			}
			if e.Failures > 0 {
				fmt.Fprintf(&out, "; %d failed, the last one by %s", e.Failures, e.LastError)
			}
			out.WriteByte('\n')
		}
		if text := r.fallbackText(); text != "" {
			fmt.Fprintf(&out, "done by the CPU in place of others: %s\n", text)
		}
	}
	for _, why := range r.Missing {
		fmt.Fprintf(&out, "no %s\n", why)
	}
	for _, what := range r.Trouble {
		fmt.Fprintf(&out, "trouble: %s\n", what)
	}
	return out.String()
}

// fallbackText lists the reasons in their order.
func (r WorkReport) fallbackText() string {
	var all []string
	for reason := range bulk.Reasons {
		if n := r.Fallbacks[reason.String()]; n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, reason))
		}
	}
	return strings.Join(all, ", ")
}
