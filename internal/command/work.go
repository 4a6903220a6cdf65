// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/settings"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

const (
	flagAge       = "age"
	flagType      = "type"
	flagThreshold = "threshold"
	flagMaxPages  = "max-pages"
)

func compactCommand() *cli.Command {
	return &cli.Command{
		Name:      "compact",
		Usage:     "give memory back that is left over between stored pages",
		ArgsUsage: "[DIR]",
		Description: "Moves the pages that the device at DIR (default " + defaultDir + ") stores close together, while it is in use, and gives " +
			"the memory back that this frees. The device does so by itself where much is left over; this takes what is left.",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON, sizes in bytes"}},
		Action: func(c *cli.Context) error { return workAction(c, settings.Compact(), nil) },
	}
}

func idleCommand() *cli.Command {
	return &cli.Command{
		Name:      "idle",
		Usage:     "mark pages idle, for recompress",
		ArgsUsage: "[DIR]",
		Description: "Marks the pages of the device at DIR (default " + defaultDir + ") idle, all or those that were not accessed for a while. A page is " +
			"idle until it is read or written. status -J counts them: ages.idle.",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: flagAge, Usage: "mark only pages that were not accessed for `TIME`, as 90s, 10m or 2h"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"},
		},
		Action: idleAction,
	}
}

func recompressCommand() *cli.Command {
	return &cli.Command{
		Name:      "recompress",
		Usage:     "make stored pages smaller by a denser algorithm",
		ArgsUsage: "[DIR]",
		Description: "Compresses pages of the device at DIR (default " + defaultDir + ") again, the largest first, while it is in use, and keeps what " +
			"becomes smaller. set recomp-algorithm=NAME says by what; idle marks pages for --type idle. It may take minutes; once it is " +
			"interrupted the device goes on.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: flagType, Usage: "only `KIND`s of pages: idle, huge (incompressible until now) or huge_idle"},
			&cli.StringFlag{Name: flagThreshold, Usage: "only pages that take `SIZE` or more, below 4096 bytes"},
			&cli.Uint64Flag{Name: flagMaxPages, Usage: "try `N` pages at most"},
			&cli.StringFlag{Name: flagAlgorithm, Aliases: []string{"a"}, Usage: "of several that are set, the one of this `NAME`"},
			&cli.IntFlag{Name: flagPriority, Usage: "of several that are set, the one with priority `N`, 1 to 3"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON, sizes in bytes"},
		},
		Action: recompressAction,
	}
}

// workReport is the JSON of compact and recompress.
type workReport struct {
	Dir     string     `json:"dir"`     // mount point
	Seconds float64    `json:"seconds"` // that it took
	Before  workMemory `json:"before"`  // the device when it began
	After   workMemory `json:"after"`   // the device when it was done
}

// workMemory is what a device takes, in bytes.
type workMemory struct {
	Used       uint64 `json:"mem_used_total"`  // memory with index and waste
	Compressed uint64 `json:"compr_data_size"` // stored objects
}

// idleReport is the JSON of idle.
type idleReport struct {
	Dir string  `json:"dir"`         // mount point
	Age float64 `json:"age_seconds"` // least time since the last access of a page that was marked; 0 for all
}

func idleAction(c *cli.Context) error {
	age := c.Duration(flagAge)
	if c.IsSet(flagAge) && age < time.Second {
		return usageError("idle: --%s %v: want a second or more; leave it out for all pages", flagAge, age)
	}
	for _, word := range c.Args().Slice() { // what kernel zram's attribute takes
		if word == "all" {
			return usageError("idle: %q: leave it out for all pages", word)
		}
		if seconds, err := strconv.ParseUint(word, 10, 32); err == nil {
			return usageError("idle: %q: did you mean --%s %ds?", word, flagAge, seconds)
		}
	}
	d, err := workDevice(c)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context)
	defer stop()
	if err := carryOut(ctx, c, d, settings.MarkIdle(age), nil); err != nil {
		return err
	}
	if c.Bool(flagJSON) {
		return printJSON(c.App.Writer, map[string]idleReport{"idle": {Dir: d.Dir, Age: age.Truncate(time.Second).Seconds()}})
	}
	which := "all pages"
	if age > 0 {
		which = "pages that were not accessed for " + term.Time(age)
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %s are idle\n", d.Word(), which)
	return err
}

func recompressAction(c *cli.Context) error {
	r := settings.Recompression{Type: c.String(flagType), MaxPages: c.Uint64(flagMaxPages), Algorithm: c.String(flagAlgorithm), Priority: c.Int(flagPriority)}
	if c.IsSet(flagThreshold) {
		n, err := term.ParseExactBytes(c.String(flagThreshold), 0)
		if err != nil {
			return usageError("recompress: --%s: %w", flagThreshold, err)
		}
		r.Threshold = n
	}
	work, err := r.Work()
	if err != nil {
		return usageError("recompress: %w", err)
	}
	return workAction(c, work, &r)
}

// workDevice returns the device that the argument names, which answers.
func workDevice(c *cli.Context) (swapdev.Device, error) {
	d, err := namedDevice(c, c.Command.Name)
	if err == nil && d.Status == nil {
		err = fmt.Errorf("%s: %w", c.Command.Name, d.Err)
	}
	return d, err
}

// workAction has a device do work and says what that has changed. r is what recompress was asked
// for, nil for other work.
func workAction(c *cli.Context, work settings.Work, r *settings.Recompression) error {
	d, err := workDevice(c)
	if err != nil {
		return err
	}
	if r != nil {
		by, err := settings.RecompressionBy(d)
		if err != nil {
			return err
		}
		if by == "" {
			return fmt.Errorf("recompress %s: no algorithm is set: zramfs set %[1]s 'recomp-algorithm=zstd(level=9)'", d.Word())
		}
	}
	ctx, stop := interruptible(c.Context)
	defer stop()
	began := time.Now()
	if err := carryOut(ctx, c, d, work, r); err != nil {
		return err
	}
	report := workReport{Dir: d.Dir, Seconds: time.Since(began).Seconds(), Before: workMemoryOf(d)}
	after, err := swapdev.FindHere(d.Dir)
	if err == nil && after.Status == nil {
		err = after.Err
	}
	if err != nil {
		return fmt.Errorf("%s %s: done, and then: %w", c.Command.Name, d.Word(), err)
	}
	report.After = workMemoryOf(after)
	if c.Bool(flagJSON) {
		return printJSON(c.App.Writer, map[string]workReport{c.Command.Name: report})
	}
	_, err = io.WriteString(c.App.Writer, report.text())
	return err
}

func workMemoryOf(d swapdev.Device) workMemory {
	return workMemory{Used: d.Status.Memory.MemUsedTotal, Compressed: d.Status.Memory.ComprDataSize}
}

func (r workReport) text() string {
	return fmt.Sprintf("%s: stored pages take %s, before %s; the store takes %s, before %s; it took %s\n", term.ShellWord(r.Dir),
		term.Size(r.After.Compressed), term.Size(r.Before.Compressed), term.Size(r.After.Used), term.Size(r.Before.Used),
		time.Duration(r.Seconds*float64(time.Second)).Round(time.Millisecond))
}

// silentTime is how long a device that is at work may give no answer to other requests.
const silentTime = 10 * time.Second

// carryOut does the work and shows how far a recompression is. It gives up where the device does
// not answer.
func carryOut(ctx context.Context, c *cli.Context, d swapdev.Device, work settings.Work, r *settings.Recompression) (err error) {
	total := uint64(0)
	if r != nil {
		total = r.Candidates(d)
	}
	steps := term.NewSteps(c.App.ErrWriter, "recompressing", int64(total))
	done := make(chan error, 1)
	working, giveUp := context.WithCancel(ctx)
	defer giveUp()
	go func() { done <- work.Do(working, d) }()
	answered := time.Now()
	tick := time.NewTicker(5 * term.ProgressPause)
	defer tick.Stop()
	for shown := uint64(0); ; {
		select {
		case err = <-done:
			if ctx.Err() != nil && errors.Is(err, helper.ErrNoAnswer) {
				err = fmt.Errorf("%s %s: interrupted; the device goes on", c.Command.Name, d.Word())
			}
			return errors.Join(err, steps.End())
		case <-tick.C:
			now, err := swapdev.FindHere(d.Dir)
			if err == nil && now.Status != nil {
				answered = time.Now()
			}
			if time.Since(answered) > silentTime {
				giveUp()
			}
			if err != nil || total == 0 {
				continue
			}
			if shown, err = showTried(steps, d, now, shown); err != nil {
				return err
			}
		}
	}
}

// showTried shows how far a recompression has come between two looks. It takes and returns the
// number of pages that are shown.
func showTried(steps term.Steps, before, now swapdev.Device, shown uint64) (uint64, error) {
	if now.Status == nil {
		return shown, nil
	}
	tried := triedSince(before, now)
	if tried <= shown {
		return shown, nil
	}
	return tried, steps.Add(tried - shown)
}

// triedSince returns how many pages were recompressed, or could not be, between two looks.
func triedSince(before, now swapdev.Device) uint64 {
	tried := func(d swapdev.Device) uint64 { return d.Status.Ages.Recompressed + d.Status.Ages.Incompressible }
	return tried(now) - min(tried(now), tried(before))
}
