// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"fmt"
	"strings"

	"github.com/zramfs/zramfs/internal/procpages"
	"github.com/zramfs/zramfs/internal/term"
)

// A Reason says why pages stay in swap or processes are left out.
type Reason string

// The reasons.
const (
	Limit       Reason = "limit"       // Limit is the caller's own.
	Memory      Reason = "memory"      // Memory means that the machine would have too little left.
	Group       Reason = "group"       // Group means that a control group has no room.
	Pressure    Reason = "pressure"    // Pressure means that tasks wait for memory too much.
	Interrupted Reason = "interrupted" // Interrupted means that the caller has ended the work.
	Ended       Reason = "ended"       // Ended means that the process has ended.
	NotRead     Reason = "not read"    // NotRead means that a recount found them in swap again or still.
	Kernel      Reason = "kernel"      // Kernel means one of the kernel's own processes.
	Refused     Reason = "permission"  // Refused means that a capability is missing.
	Serving     Reason = "serving"     // Serving means a process that serves swap.
	Uncounted   Reason = "not counted" // Uncounted means that the caller has ended the recount.
)

// words explain the reasons.
var words = map[Reason]string{
	Limit:       "more than --limit",
	Memory:      "all memory that is available is taken, but for a margin",
	Group:       "the memory limit of their control group has no room for them",
	Pressure:    "programs wait for memory too much (/proc/pressure/memory)",
	Interrupted: "interrupted",
	Ended:       "ended during the command",
	NotRead:     "the kernel has not brought them back, or has swapped them out again",
	Kernel:      "the kernel's own, which have no memory in swap",
	Refused:     "no permission: run as root, with CAP_SYS_PTRACE and CAP_SYS_NICE",
	Serving:     "serve swap",
	Uncounted:   "asked for and not counted again: interrupted",
}

// A Count is a number of pages or processes with a reason.
type Count struct {
	Reason Reason `json:"reason"` // why they stay
	Number uint64 `json:"number"` // number of pages
}

// A Report is the result of a prefetch; its JSON is what --json prints. Pages are of 4096 bytes.
type Report struct {
	Processes   int      `json:"processes"`          // with pages in swap
	Found       uint64   `json:"pages_found"`        // in swap
	Asked       uint64   `json:"pages_asked"`        // read ahead; in a dry run what would be
	Back        uint64   `json:"pages_brought_back"` // of those, in memory by a recount
	Left        []Count  `json:"left"`               // pages
	Skipped     []Count  `json:"skipped"`            // processes
	Notes       []string `json:"notes"`              // further remarks of the report
	DryRun      bool     `json:"dry_run"`            // whether nothing was asked for
	Seconds     float64  `json:"seconds"`            // the time that it took
	MBPerSecond float64  `json:"mb_per_second"`      // of 10^6 bytes
}

// Incomplete reports whether pages stay in swap that should have come back: not those behind the
// caller's limit, nor those of ended processes, but those of processes that it may not look at.
func (r Report) Incomplete() bool {
	for _, l := range r.Left {
		if l.Reason != Limit && l.Reason != Ended {
			return true
		}
	}
	return counted(r.Skipped, Refused) > 0
}

// Text returns the report as lines of text.
func (r Report) Text() string {
	var out strings.Builder
	of := term.Plural(r.Processes, "process", "processes")
	switch {
	case r.Found == 0:
		out.WriteString("nothing is in swap\n")
	case r.DryRun:
		fmt.Fprintf(&out, "%s in swap, of %s: %s would be brought back\n", bytesOf(r.Found), of, bytesOf(r.Asked))
	default:
		fmt.Fprintf(&out, "%s of %s brought back, of %s in swap, in %.1f s, %.0f MB/s\n", bytesOf(r.Back), of, bytesOf(r.Found), r.Seconds, r.MBPerSecond)
	}
	for _, l := range r.Left {
		fmt.Fprintf(&out, "  left     %s: %s\n", bytesOf(l.Number), words[l.Reason])
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(&out, "  skipped  %s: %s\n", term.Plural(int(s.Number), "process", "processes"), words[s.Reason])
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&out, "  note     %s\n", n)
	}
	return out.String()
}

func bytesOf(pages uint64) string { return term.Size(pages * procpages.PageSize) }

// count adds number to the entry of a reason.
func count(all []Count, reason Reason, number uint64) []Count {
	if number == 0 {
		return all
	}
	for i := range all {
		if all[i].Reason == reason {
			all[i].Number += number
			return all
		}
	}
	return append(all, Count{reason, number})
}

// counted returns the number of the entry of a reason.
func counted(all []Count, reason Reason) uint64 {
	for _, c := range all {
		if c.Reason == reason {
			return c.Number
		}
	}
	return 0
}
