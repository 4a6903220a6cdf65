// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/aside"
	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
	"github.com/zramfs/zramfs/cmd/zramfs/protect"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
)

// problem is a reason why a device is degraded, with its fix.
type problem struct {
	What string `json:"what"`
	Fix  string `json:"fix"`
}

// String is the line that status prints.
func (p problem) String() string {
	if p.Fix == "" {
		return p.What
	}
	return p.What + "; fix: " + p.Fix
}

const (
	// nearlyFull is the share of the memory limit, and of swap, in per cent, from which a device is
	// degraded: writes will soon fail, and their pages then stay in memory.
	nearlyFull = 90
	// manyRestarts is the number of workers dead within ten minutes from which a device is
	// degraded.
	manyRestarts = 3
	// errorsCount is how long an error keeps a device degraded.
	errorsCount = time.Hour
)

// diagnose returns all problems of a device at a time, none for a healthy one. A missing protection
// counts if it is essential and the device is used as swap; status shows the others without calling
// the device degraded.
func diagnose(d device, now time.Time) []problem {
	problems := []problem{} // not nil: it is printed as a JSON array
	problems = append(problems, diagnoseServer(d)...)
	problems = append(problems, diagnoseAreas(d)...)
	problems = append(problems, diagnoseSwap(d)...)
	if d.Status == nil {
		return problems
	}
	if len(d.Swaps) > 0 {
		for _, p := range protect.Blocking(d.Status.Protections) {
			problems = append(problems, problem{What: "not safe as swap: " + p.Name + ": " + p.Detail, Fix: "zramfs down " + d.Dir})
		}
	}
	if s := d.Status; !s.SurvivesCrash {
		problems = append(problems, problem{
			What: fmt.Sprintf("the keeper (PID %d) has died: if the worker dies too, everything stored is lost", s.KeeperPID),
			Fix:  "zramfs down " + d.Dir + ", then up",
		})
	}
	problems = append(problems, diagnoseRestarts(d.Status, now)...)
	problems = append(problems, diagnoseErrors(d.Status.IO, now)...)
	return append(problems, diagnoseLimit(d)...)
}

// diagnoseServer explains a missing status, and reports a device mounted elsewhere.
func diagnoseServer(d device) []problem {
	var problems []problem
	if d.away && !errors.Is(d.Err, errDead) {
		problems = append(problems, diagnoseAway(d))
	}
	switch {
	case d.Status != nil, errors.Is(d.Err, errOutOfSight):
	case errors.Is(d.Err, errDead):
		problems = append(problems, diagnoseDead(d))
	case errors.Is(d.Err, aside.ErrNoAnswer):
		s := silenceOf(d)
		problems = append(problems, problem{What: s.what(), Fix: s.fix()})
	default:
		problems = append(problems, problem{What: fmt.Sprintf("the status cannot be read: %v", d.Err)})
	}
	return problems
}

// silenceOf describes a device that does not answer.
func silenceOf(d device) *silence {
	var s *silence
	if errors.As(d.Err, &s) {
		return s
	}
	return &silence{dir: d.title()}
}

// diagnoseAreas finds swap areas in up's record that are off while others are on, and loop devices
// without direct I/O.
func diagnoseAreas(d device) []problem {
	var problems []problem
	if d.rec != nil && len(d.Swaps) > 0 {
		var off []string
		for _, n := range d.rec.Loops {
			if d.swapOn(n.Path) == nil {
				off = append(off, n.Path)
			}
		}
		if len(off) > 0 {
			problems = append(problems, problem{
				What: fmt.Sprintf("%d of %d swap areas off: %s", len(off), len(d.rec.Loops), strings.Join(off, " ")),
				Fix:  "zramfs down " + d.title() + ", then up",
			})
		}
	}
	for _, loop := range d.Loops {
		if !loop.DirectIO {
			problems = append(problems, problem{
				What: "direct I/O of " + loop.Path + " is off: the kernel holds each page twice, and writing needs memory",
				Fix:  "losetup --direct-io=on " + loop.Path,
			})
		}
	}
	return problems
}

// diagnoseSwap finds swap that is nearly full.
func diagnoseSwap(d device) []problem {
	swap := d.swap()
	if swap == nil || d.used() <= swap.Size/100*nearlyFull {
		return nil
	}
	return []problem{{
		What: fmt.Sprintf("%s of its swap is used", term.Share(d.used(), swap.Size)),
		Fix:  "end programs, or give the machine more swap",
	}}
}

// diagnoseRestarts finds workers that die one after another.
func diagnoseRestarts(s *daemon.Status, now time.Time) []problem {
	if s.RestartsRecent <= manyRestarts {
		return nil
	}
	return []problem{{
		What: fmt.Sprintf("%s, %d times within 10 minutes", restartWords(s, now), s.RestartsRecent),
		Fix:  "see the log (journalctl -t zramfs, or dmesg); zramfs upgrade --binary PATH changes to another version",
	}}
}

// restartWords says how many workers have died, and when and how the last one did.
func restartWords(s *daemon.Status, now time.Time) string {
	text := fmt.Sprintf("restarted %d times", s.Restarts)
	if s.Restarts == 1 {
		text = "restarted once"
	}
	if s.LastRestart == nil {
		return text
	}
	text += ", last " + term.Time(now.Sub(*s.LastRestart)) + " ago"
	if s.LastExit != "" {
		text += " (" + s.LastExit + ")"
	}
	return text
}

// errorCount is a kind of error that a device counts.
type errorCount struct {
	what string // with the number
	n    uint64
	when daemon.ErrorTimes // zero from a worker of an older version
	fix  string
}

func errorCounts(io daemon.IOStatus) []errorCount {
	all := []errorCount{
		{"%d pages were damaged", io.ChecksumErrors, io.ChecksumErrorTimes, "test the memory of the machine; the log has the pages' numbers"},
		{"%d reads failed", io.FailedReads, io.FailedReadTimes, "see the log; the programs that the pages belonged to got an I/O error"},
		{"%d writes failed", io.FailedWrites, io.FailedWriteTimes,
			"no data is lost, the pages stayed in memory; set it up again with a larger --mem-limit, or end programs"},
	}
	return slices.DeleteFunc(all, func(e errorCount) bool { return e.n == 0 })
}

// String says how many errors there were, and when.
func (e errorCount) String() string {
	text := fmt.Sprintf(e.what, e.n)
	if e.n == 1 {
		text = strings.NewReplacer("pages were", "page was", "reads", "read", "writes", "write").Replace(text)
	}
	switch first, last := e.when.First, e.when.Last; {
	case last.IsZero():
		return text
	case e.n == 1 || last.Sub(first) < time.Second:
		return text + " (" + clock(last) + ")"
	default:
		return text + " (first " + clock(first) + ", last " + clock(last) + ")"
	}
}

// clock writes a time in the local zone.
func clock(t time.Time) string { return t.Local().Format("Jan 2 15:04:05") }

// diagnoseErrors finds the kinds whose last error is recent.
func diagnoseErrors(io daemon.IOStatus, now time.Time) []problem {
	var problems []problem
	for _, e := range errorCounts(io) {
		if e.when.Last.IsZero() || now.Sub(e.when.Last) < errorsCount {
			problems = append(problems, problem{What: e.String(), Fix: e.fix})
		}
	}
	return problems
}

func diagnoseLimit(d device) []problem {
	s := d.Status
	used := s.Memory.MemUsedTotal
	if s.MemLimit == 0 || used < s.MemLimit/100*nearlyFull {
		return nil
	}
	return []problem{{
		What: fmt.Sprintf("%s of the memory limit of %s is used", term.Share(used, s.MemLimit), term.Size(s.MemLimit)),
		Fix:  "end programs, or zramfs down " + d.title() + ", then up with a larger --mem-limit",
	}}
}
