// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"

	"zramfs/cmd/zramfs/daemon"
)

// problem is one reason for which a device is degraded, and what to do about it.
type problem struct {
	What string `json:"what"`
	Mend string `json:"mend"`
}

// String is the line that status prints.
func (p problem) String() string {
	if p.Mend == "" {
		return p.What
	}
	return p.What + "; to mend: " + p.Mend
}

// nearlyFull is the share of the memory limit, in per cent, from which a device is degraded: writes will soon fail, and
// the pages then stay in memory.
const nearlyFull = 90

// diagnose returns everything that is wrong with a device, nothing for a healthy one. That a protection is missing
// counts when it is essential and the device is swapped to; status shows the others without calling it degraded.
func diagnose(d device) []problem {
	problems := []problem{} // not nil: it is printed as a JSON array
	if d.Status == nil {
		problems = append(problems, diagnoseServer(d))
	}
	for _, loop := range d.Loops {
		if !loop.DirectIO {
			problems = append(problems, problem{
				What: "direct I/O of " + loop.Path + " is off: the kernel holds each page twice, and writing needs memory",
				Mend: "losetup --direct-io=on " + loop.Path,
			})
		}
	}
	if d.Status == nil {
		return problems
	}
	if len(d.Swaps) > 0 {
		for _, p := range daemon.Blocking(d.Status.Protections) {
			problems = append(problems, problem{What: "not safe as swap: " + p.Name + ": " + p.Detail, Mend: "zramfs down " + d.Dir})
		}
	}
	if s := d.Status; !s.SurvivesCrash && s.Transport == "dev" {
		problems = append(problems, problem{
			What: fmt.Sprintf("the keeper (PID %d) has died: should the worker die too, everything stored is lost", s.KeeperPID),
			Mend: "zramfs down " + d.Dir + ", and set it up again",
		})
	}
	problems = append(problems, diagnoseErrors(d.Status.IO)...)
	return append(problems, diagnoseLimit(d.Status)...)
}

// diagnoseServer explains why there is no status.
func diagnoseServer(d device) problem {
	switch {
	case errors.Is(d.Err, errDead):
		return problem{What: errDead.Error(), Mend: "zramfs down --force " + d.Dir}
	case errors.Is(d.Err, errNoAnswer):
		return problem{What: errNoAnswer.Error() + ", and what it holds cannot be read until it does",
			Mend: "see whether it is stopped or short of CPU, and its log"}
	}
	return problem{What: fmt.Sprintf("the status cannot be read: %v", d.Err)}
}

type errorCount struct {
	what string
	n    uint64
	mend string
}

func errorCounts(io daemon.IOStatus) []errorCount {
	return []errorCount{
		{"damaged pages", io.ChecksumErrors, "test the memory of the machine; the log has the pages' numbers"},
		{"failed reads", io.FailedReads, "see the log; whoever owned the pages was told by an I/O error"},
		{"failed writes", io.FailedWrites, "nothing is lost, the kernel kept the pages; allow more memory, or use less swap"},
	}
}

func diagnoseErrors(io daemon.IOStatus) []problem {
	var problems []problem
	for _, e := range errorCounts(io) {
		if e.n > 0 {
			problems = append(problems, problem{What: fmt.Sprintf("%s since it was started: %d", e.what, e.n), Mend: e.mend})
		}
	}
	return problems
}

func diagnoseLimit(s *daemon.Status) []problem {
	used := s.Memory.MemUsedTotal
	if s.MemLimit == 0 || used < s.MemLimit/100*nearlyFull {
		return nil
	}
	return []problem{{
		What: fmt.Sprintf("%s of the memory limit of %s is used", humanShare(used, s.MemLimit), humanSize(s.MemLimit)),
		Mend: "set it up again with a larger --mem-limit",
	}}
}
