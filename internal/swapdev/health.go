// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/term"
)

// Problem is a reason why a device is degraded, with its fix.
type Problem struct {
	What string `json:"what"` // what is wrong
	Fix  string `json:"fix"`  // how to fix it; empty where nothing is known
}

// String returns the problem and its fix in a line.
func (p Problem) String() string {
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

// Diagnose returns all problems of a device at a time, none for a healthy one. A missing protection
// counts if it is essential and the device is used as swap, or slows the device down; status shows
// the others without calling the device degraded.
func Diagnose(d Device, now time.Time) []Problem {
	problems := []Problem{} // not nil: it is printed as a JSON array
	problems = append(problems, diagnoseServer(d)...)
	problems = append(problems, diagnoseAreas(d)...)
	problems = append(problems, diagnoseSwap(d)...)
	if d.Status == nil {
		return problems
	}
	if len(d.Swaps) > 0 {
		for _, p := range status.Blocking(d.Status.Protections) {
			problems = append(problems, Problem{What: "not safe as swap: " + p.Name + ": " + p.Detail, Fix: "zramfs down " + d.Word()})
		}
	}
	for _, p := range d.Status.Protections {
		if p.Name == status.NameCgroup && p.State == status.Warn { // it is slow now, or will be
			problems = append(problems, Problem{What: p.Name + ": " + p.Detail})
		}
	}
	if s := d.Status; !s.SurvivesCrash {
		problems = append(problems, Problem{
			What: fmt.Sprintf("the keeper (PID %d) cannot replace the worker: if the worker dies, everything stored is lost", s.KeeperPID),
			Fix:  "zramfs down " + d.Word() + ", then up",
		})
	}
	problems = append(problems, diagnoseRestarts(d.Status, now)...)
	problems = append(problems, diagnoseErrors(d.Status.IO, now)...)
	if s := d.Status.Scrub; s.Damaged > 0 {
		what := fmt.Sprintf("the last scrub found %s damaged", term.Pages(s.Damaged))
		if len(s.DamagedPages) > 0 { // else the status is not one of ours
			what += fmt.Sprintf(", such as number %d", s.DamagedPages[0])
		}
		problems = append(problems, Problem{
			What: what,
			Fix:  "test the machine's memory; a page is sound again once it is written",
		})
	}
	for _, lost := range d.Status.SettingsLost {
		problems = append(problems, Problem{What: lost, Fix: "zramfs set " + d.Word() + " with the settings that you want"})
	}
	return append(problems, diagnoseLimit(d)...)
}

// Word is the device's name in messages and in commands that a user may copy: quoted for a shell
// where it needs that.
func (d Device) Word() string { return term.ShellWord(d.Title()) }

// diagnoseServer explains a missing status, and reports a device mounted elsewhere.
func diagnoseServer(d Device) []Problem {
	var problems []Problem
	if d.Elsewhere && !errors.Is(d.Err, ErrDead) {
		problems = append(problems, DiagnoseAway(d))
	}
	switch {
	case d.Status != nil, errors.Is(d.Err, ErrOutOfSight):
	case errors.Is(d.Err, ErrDead):
		problems = append(problems, DiagnoseDead(d))
	case errors.Is(d.Err, ErrCutOff):
		problems = append(problems, Problem{What: ErrCutOff.Error(), Fix: "zramfs down " + d.Word() + ", then up"})
	case errors.Is(d.Err, helper.ErrNoAnswer):
		s := SilenceOf(d)
		problems = append(problems, Problem{What: s.what(), Fix: s.Fix()})
	default:
		problems = append(problems, Problem{What: fmt.Sprintf("the status cannot be read: %v", d.Err)})
	}
	return problems
}

// SilenceOf describes a device that does not answer.
func SilenceOf(d Device) *Silence {
	var s *Silence
	if errors.As(d.Err, &s) {
		return s
	}
	return &Silence{Dir: d.Title()}
}

// diagnoseAreas finds swap areas in up's record that are off while others are on, and loop devices
// without direct I/O.
func diagnoseAreas(d Device) []Problem {
	var problems []Problem
	if d.Unseen != nil {
		problems = append(problems, Problem{What: d.Unseen.Error(), Fix: "run it as root where /sys and /dev are the machine's"})
	}
	if off := d.Off(); len(off) > 0 {
		problems = append(problems, Problem{
			What: fmt.Sprintf("%d of %d swap areas off: %s", len(off), len(d.Record.Loops), strings.Join(off, " ")),
			Fix:  "zramfs down " + d.Word() + ", then up",
		})
	}
	for _, loop := range d.Loops {
		if !loop.DirectIO {
			problems = append(problems, Problem{
				What: "direct I/O of " + loop.Path + " is off: the kernel holds each page twice, and writing needs memory",
				Fix:  "losetup --direct-io=on " + loop.Path,
			})
		}
	}
	return problems
}

// diagnoseSwap finds swap that is nearly full.
func diagnoseSwap(d Device) []Problem {
	swap := d.Swap()
	if swap == nil || d.Used() <= swap.Size/100*nearlyFull {
		return nil
	}
	return []Problem{{
		What: fmt.Sprintf("%s of its swap is used", term.Share(d.Used(), swap.Size)),
		Fix:  "end programs, or give the machine more swap",
	}}
}

// diagnoseRestarts finds workers that die one after another.
func diagnoseRestarts(s *status.Status, now time.Time) []Problem {
	if s.RestartsRecent <= manyRestarts {
		return nil
	}
	return []Problem{{
		What: fmt.Sprintf("%s, %d times within 10 minutes", RestartWords(s, now), s.RestartsRecent),
		Fix:  "see the log (journalctl -t zramfs, or dmesg); zramfs upgrade --binary PATH changes to another version",
	}}
}

// RestartWords says how many workers have died, and when and how the last one did.
func RestartWords(s *status.Status, now time.Time) string {
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

// ErrorCount is a kind of error that a device counts.
type ErrorCount struct {
	what string // with the number
	n    uint64
	when status.ErrorTimes
	fix  string
}

// ErrorCounts returns the kinds of error that have occurred, damaged pages first.
func ErrorCounts(io status.IO) []ErrorCount {
	all := []ErrorCount{
		{"%d pages were damaged", io.ChecksumErrors, io.ChecksumErrorTimes, "test the memory of the machine; the log has the pages' numbers, and says if something else wrote to the backing device"},
		{"%d reads failed", io.FailedReads, io.FailedReadTimes, "see the log; the programs that the pages belonged to got an I/O error"},
		{"%d writes failed", io.FailedWrites, io.FailedWriteTimes,
			"no data is lost, the pages stayed in memory; raise the limit (zramfs set DIR mem-limit=SIZE), or end programs"},
	}
	return slices.DeleteFunc(all, func(e ErrorCount) bool { return e.n == 0 })
}

// String says how many errors there were, and when.
func (e ErrorCount) String() string {
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
func diagnoseErrors(io status.IO, now time.Time) []Problem {
	var problems []Problem
	for _, e := range ErrorCounts(io) {
		if e.when.Last.IsZero() || now.Sub(e.when.Last) < errorsCount {
			problems = append(problems, Problem{What: e.String(), Fix: e.fix})
		}
	}
	return problems
}

func diagnoseLimit(d Device) []Problem {
	s := d.Status
	used := s.Memory.MemUsedTotal
	if s.MemLimit == 0 || used < s.MemLimit/100*nearlyFull {
		return nil
	}
	return []Problem{{
		What: fmt.Sprintf("%s of the memory limit of %s is used", term.Share(used, s.MemLimit), term.Size(s.MemLimit)),
		Fix:  "end programs, or zramfs set " + d.Word() + " mem-limit=LARGER",
	}}
}

// DiagnoseDead says what a device without a serving process has lost.
func DiagnoseDead(d Device) Problem {
	p := Problem{What: ErrDead.Error(), Fix: "zramfs down --force " + d.Word()}
	if len(d.Swaps) > 0 {
		p.What = fmt.Sprintf("%s is still swap and no process serves it: %s are lost", d.swapPaths(), term.Size(d.Used()))
	}
	return p
}

// DiagnoseAway says where a device with an unseen mount is.
func DiagnoseAway(d Device) Problem {
	var words []string
	if d.Keeper != 0 {
		words = append(words, fmt.Sprintf("keeper %d", d.Keeper))
	}
	if len(d.Loops) > 0 {
		words = append(words, AreaNames(LoopPaths(d.Loops)))
	}
	if len(d.Swaps) > 0 {
		words = append(words, term.Size(d.Used())+" in swap")
	}
	return Problem{
		What: "a device is up in another mount namespace (" + strings.Join(words, ", ") + ")",
		Fix:  "zramfs down " + d.Word() + " ends it",
	}
}

// swapPaths lists the loop devices in use as swap.
func (d Device) swapPaths() string {
	paths := make([]string, len(d.Swaps))
	for i, s := range d.Swaps {
		paths[i] = s.Path
	}
	return AreaNames(paths)
}
