// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/idlework"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/loopsetup"
)

// A wish is the request of an up command.
type wish struct {
	cfg  zramfsd.Config
	swap swapdev.SwapConfig
	set  func(flag string) bool // whether the flag was given
	tell func(pid int, status string) error
}

// sayUp prints that d is up. It fails if d has other values than w asks for, or has lost areas: a
// service manager hears of the others all the same.
func sayUp(c *cli.Context, said *swapdev.Narration, d swapdev.Device, w wish) error {
	if x := w.differs(d); len(x.has) > 0 {
		return fmt.Errorf("%s is up with %s; you asked for %s. To change it: %s",
			d.Word(), strings.Join(x.has, ", "), strings.Join(x.wants, ", "), x.remedy(d.Word()))
	}
	if err := swapdev.ReviveSlots(d); err != nil {
		return err
	}
	swap := d.Swap()
	line := swapdev.SwapStatus(d.Status.Disksize, swapdev.LoopPaths(d.Loops), swap.Priority)
	if d.Keeper != 0 {
		if err := w.tell(d.Keeper, line); err != nil {
			return err
		}
	}
	if lost := lostAreas(d); len(lost) > 0 {
		return fmt.Errorf("%s is up without %d of its %d swap areas, %s: an up may have been killed. To turn them on: zramfs down %[1]s, then up",
			d.Word(), len(lost), len(d.Record.Loops), strings.Join(lost, ", "))
	}
	switch said.How {
	case flagQuiet:
		return nil
	case flagJSON:
		s := newSummary(zramfsd.Config{Dir: d.Dir, Disksize: d.Status.Disksize, MemLimit: d.Status.MemLimit, Algorithm: w.cfg.Algorithm},
			&status.Report{Dir: d.Dir, Disksize: d.Status.Disksize}, d, said)
		s.Algorithm, s.Loops, s.Priority = d.Status.Algorithm, swapdev.LoopPaths(d.Loops), &swap.Priority
		return printJSON(c.App.Writer, map[string]summary{"up": s})
	}
	_, err := fmt.Fprintf(c.App.Writer, "%s is up already: %s\n", d.Word(), line)
	return err
}

// lostAreas returns the areas of d that are off and have no loop device any longer: with one, an up
// may be about to turn them on.
func lostAreas(d swapdev.Device) []string {
	return slices.DeleteFunc(d.Off(), func(path string) bool {
		return slices.ContainsFunc(d.Loops, func(l loopsetup.Info) bool { return l.Path == path })
	})
}

// scrubText says how often a device is scrubbed.
func scrubText(seconds float64) string {
	if seconds == 0 {
		return "scrub off"
	}
	return "scrub every " + term.Time(time.Duration(seconds*float64(time.Second)))
}

// A difference is what a device has and what an up asks for, in the same order.
type difference struct {
	has, wants []string
	set        []string // KEY=VALUE of zramfs set for those that can change in use
}

// remedy names the commands that give the device dir, a word for a shell, what was asked for.
func (x difference) remedy(dir string) string {
	anew := fmt.Sprintf("zramfs down %s, then up", dir)
	if len(x.set) == 0 {
		return anew
	}
	inUse := fmt.Sprintf("zramfs set %s %s", dir, strings.Join(x.set, " "))
	if len(x.set) == len(x.has) {
		return inUse
	}
	return inUse + "; the rest: " + anew
}

// differs returns the given flags that differ.
func (w wish) differs(d swapdev.Device) (x difference) {
	note := func(flag, is, want string) {
		if w.set(flag) && is != want {
			x.has, x.wants = append(x.has, is), append(x.wants, want)
		}
	}
	noteInUse := func(flag, is, want, value string) { // zramfs set has a key of that name
		if note(flag, is, want); w.set(flag) && is != want {
			x.set = append(x.set, term.ShellWord(flag+"="+value))
		}
	}
	s := d.Status
	has, wants := term.SizesApart(s.Disksize, w.cfg.Disksize)
	note(flagSize, has, wants)
	noteInUse(flagAlgorithm, "algorithm "+s.Algorithm, "algorithm "+w.cfg.Algorithm.String(), w.cfg.Algorithm.String())
	has, wants = term.SizesApart(s.MemLimit, w.cfg.MemLimit)
	noteInUse(flagMemLimit, limitText(s.MemLimit, has), limitText(w.cfg.MemLimit, wants), strings.TrimSuffix(term.ExactSize(w.cfg.MemLimit), "B"))
	note(flagLatency, "latency "+string(s.Latency.Policy), "latency "+string(w.cfg.Latency))
	note(flagCold, "cold "+idlework.Share(s.Cold.Share).String(), "cold "+w.cfg.Cold.String())
	note(flagScrub, scrubText(s.Scrub.EverySeconds), scrubText(w.cfg.Scrub.Seconds()))
	backing := w.cfg.Backing
	if real, err := filepath.EvalSymlinks(backing); err == nil { // the device tells where the path led
		backing = real
	}
	note(flagSpill, backingText(s.Backing.Path), backingText(backing))
	if s.Spill.State != status.Off {
		has, wants := term.SizesApart(s.Spill.DailyBytes, w.cfg.SpillDaily)
		note(flagSpillDaily, has+" spilled in 24 hours", wants+" spilled in 24 hours")
	}
	note(flagOnFull, "on full "+string(s.OnFull), "on full "+string(w.cfg.OnFull))
	note(flagPriority, fmt.Sprintf("priority %d", d.Swap().Priority), fmt.Sprintf("priority %d", w.swap.Priority))
	if policy := d.FindSlots().Policy; policy != "" && s.Disksize >= ballast.MinDevice {
		note(flagSlots, "slots "+string(policy), "slots "+string(w.swap.Slots))
	}
	if d.Record != nil {
		note(flagTune, "tune "+d.Record.Tune, "tune "+w.swap.Tune)
		noteInUse(flagZswap, "zswap "+d.Record.Zswap, "zswap "+w.swap.Zswap.String(), w.swap.Zswap.String())
	}
	note(flagDevices, fmt.Sprintf("loop devices: %d", len(d.Loops)), fmt.Sprintf("loop devices: %d", w.swap.Devices))
	if d.Record != nil {
		note(flagDiscard, "discard "+d.Record.Discard, "discard "+string(w.swap.Discard))
	}
	note(flagKeep, fmt.Sprintf("keep %t", keeps(d)), fmt.Sprintf("keep %t", w.swap.Keep))
	return x
}

// limitText describes a memory limit of that size in words.
func limitText(limit uint64, size string) string {
	if limit == 0 {
		return "no memory limit"
	}
	return "a memory limit of " + size
}

func backingText(path string) string {
	if path == "" {
		return "no backing device"
	}
	return "backing device " + term.ShellWord(path)
}

// keeps reports whether a device stays when its swap is turned off by swapoff.
func keeps(d swapdev.Device) bool { return !d.Loops[0].Autoclear }
