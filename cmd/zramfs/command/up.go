// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/doctor"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/imaging"
	"github.com/zramfs/zramfs/cmd/zramfs/protect"
	"github.com/zramfs/zramfs/cmd/zramfs/slots"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/cmd/zramfs/tune"
	"github.com/zramfs/zramfs/loopsetup"
)

const (
	defaultDir   = "/run/zram"
	flagPriority = "priority"
	flagDiscard  = "discard"
	flagForce    = "force"
	flagDevices  = "devices"
	flagKeep     = "keep"
	swapLabel    = "zramfs"

	defaultPriority = 100
)

func upCommand() *cli.Command {
	return &cli.Command{
		Name:      "up",
		Usage:     "turn on compressed swap",
		ArgsUsage: "[DIR]",
		Description: "Serves a device at DIR (default " + defaultDir + ") as mount does, puts a loop device on it, writes a swap " +
			"header and turns it on. If a step fails, those before it are undone. A device that is up already is left alone; if it has other " +
			"values than the given ones, the exit code is 1.\n\n" +
			"The data file is cut into slices, each with a loop device and a swap area of a priority lower by one, so that the " +
			"kernel uses freed slots again before it goes on to the next: it tells a device of freed slots only when a whole " +
			"cluster of 2 MiB is free. By default there are up to 16, each an eighth larger than the one before, of 32 MiB on " +
			"average or more. list shows one device.\n\n" +
			slotsHelp + "\n\n" +
			"With --tune recommended it sets " + tune.Help() + "; down restores what was there. Values that cannot be changed here, " +
			"as in most containers, cost a line. Without it no parameter of the machine changes.\n\n" +
			"When swapoff turns all its areas off, the device ends, and the kernel parameters get their old values; with --keep it stays, as " +
			"/dev/zram0 does, until down.\n\n" +
			"Freed pages are discarded by default (pages), as zram-generator has it: without that, what processes have " +
			"freed would stay in the device until it is written over. To discard everything once at the start, as both and once do " +
			"besides, changes nothing on a device that was just made.",
		Flags: append(append(deviceFlags(), narrationFlags()...),
			&cli.IntFlag{Name: flagPriority, Aliases: []string{"p"}, Value: defaultPriority,
				Usage: "swap `PRIORITY`, from 0 to 32767: higher ones are used first"},
			&cli.StringFlag{Name: flagDiscard, Aliases: []string{"d"}, Value: string(loopsetup.DiscardPages),
				Usage: "`WHEN` to tell the device what is free: both, once, pages or none"},
			&cli.IntFlag{Name: flagDevices, DefaultText: "by size",
				Usage: "number `N` of loop devices and swap areas, from 1 to 32"},
			slotsFlag(),
			tuneFlag(),
			sysctlFlag(),
			&cli.BoolFlag{Name: flagKeep, Usage: "leave the device for another swapon when swap is turned off by swapoff; down ends it"},
			&cli.BoolFlag{Name: flagForce, Usage: "turn swap on even if that is not safe"},
		),
		Action: upAction,
	}
}

// swapConfig is what up adds to a device.
type swapConfig struct {
	priority int
	discard  loopsetup.Discard
	devices  int // loop devices, and so swap areas
	slots    slots.Policy
	tune     string // tune.Keep or tune.Recommended
	keep     bool
	force    bool
}

func upAction(c *cli.Context) error {
	dir, err := oneDir(c, "up")
	if err != nil {
		return err
	}
	cfg, err := configFor(c, dir)
	if err != nil {
		return err
	}
	swap, err := readSwapConfig(c, cfg.Disksize)
	if err != nil {
		return err
	}
	said, err := newNarration(c, c.App.Writer)
	if err != nil {
		return err
	}
	if err := doctor.CanSwap(host.Local); err != nil {
		return err
	}
	all, err := devices.Find(dir)
	if err != nil && !errors.Is(err, devices.ErrNotRunning) {
		return err
	}
	if d, err := upAlready(all); d != nil || err != nil {
		if err == nil {
			err = sayUp(c, said, *d, wish{cfg: cfg, swap: swap, set: c.IsSet})
		}
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills the program
	u := &upRun{ctx: ctx, out: said, stdout: c.App.Writer, machine: host.Local, cfg: cfg, swap: swap}
	return u.run()
}

// oneDir returns the argument DIR, which is optional for up and down.
func oneDir(c *cli.Context, name string) (string, error) {
	switch {
	case c.NArg() > 1:
		return "", usageError("%s: one DIR at most", name)
	case c.NArg() == 0:
		return defaultDir, nil
	case c.Args().First() == "":
		return "", usageError("%s: DIR is empty; leave it out for %s", name, defaultDir)
	}
	return c.Args().First(), nil
}

// readSwapConfig reads the flags for a device of size bytes.
func readSwapConfig(c *cli.Context, size uint64) (swapConfig, error) {
	s := swapConfig{priority: c.Int(flagPriority), devices: c.Int(flagDevices), keep: c.Bool(flagKeep), force: c.Bool(flagForce)}
	if s.priority < 0 || s.priority > loopsetup.MaxPriority {
		return s, usageError("priority %d: must be from 0 to %d", s.priority, loopsetup.MaxPriority)
	}
	if !c.IsSet(flagDevices) {
		s.devices = defaultDevices(size, s.priority)
	}
	if s.devices < 1 || s.devices > maxDevices {
		return s, usageError("devices %d: must be from 1 to %d", s.devices, maxDevices)
	}
	if s.priority < s.devices-1 {
		return s, usageError("priority %d: %d areas of descending priority need %d at least", s.priority, s.devices, s.devices-1)
	}
	if first := cut(size, s.devices)[0].size; s.devices > 1 && first < minSlice {
		return s, usageError("devices %d: %s for the first of them is too little, %s is the least", s.devices,
			term.Size(first), term.Size(minSlice))
	}
	var err error
	if s.tune, err = readTune(c); err != nil {
		return s, err
	}
	if s.slots, err = slots.ParsePolicy(c.String(flagSlots)); err != nil {
		return s, usageError("%w", err)
	}
	if s.discard, err = loopsetup.ParseDiscard(c.String(flagDiscard)); err != nil {
		return s, usageError("discard %q: use both, once, pages or none", c.String(flagDiscard))
	}
	return s, checkSwapSize(c.String(flagSize), size)
}

// upRun is one run of up. It is used by one goroutine.
type upRun struct {
	ctx     context.Context // ended by a signal
	out     *narration
	stdout  io.Writer
	machine host.Root
	cfg     daemon.Config
	swap    swapConfig

	report *daemon.Report
	device devices.Device      // Dir and the loop devices attached so far
	loops  []*loopsetup.Device // those held open
	record devices.Record
	undo   []func() error // for the finished steps, last first
}

// run does the steps, and undoes them after an error or a signal.
func (u *upRun) run() error {
	for _, step := range []func() error{u.mount, u.checkSafety, u.attach, u.format, u.keep, u.note, u.hide, u.tune, u.turnOn, u.letGo, u.freeSlots} {
		err := u.ctx.Err()
		if err != nil {
			err = imaging.ErrInterrupted
		} else {
			err = step()
		}
		if err != nil {
			return u.giveUp(err)
		}
	}
	return u.summarize()
}

// summarize prints the summary.
func (u *upRun) summarize() error {
	if u.out.how == flagQuiet {
		return nil
	}
	status, _ := devices.ReadStatus(u.report.Dir) // without it the summary has no memory line
	s := newSummary(u.cfg, u.report, status, u.out)
	s.Loops, s.Priority = devices.LoopPaths(u.device.Loops), &u.swap.priority
	if u.out.how == flagJSON {
		return printJSON(u.stdout, map[string]summary{"up": s})
	}
	_, err := fmt.Fprint(u.stdout, s.swapText(), s.memoryText(), s.warningText(), s.nextText("down"))
	return err
}

// giveUp undoes the finished steps after err.
func (u *upRun) giveUp(err error) error {
	undone := u.takeBack()
	switch {
	case undone == nil && errors.Is(err, imaging.ErrInterrupted):
		return fmt.Errorf("%w; everything was undone", err)
	case undone == nil && errors.Is(err, errUnsafe):
		return fmt.Errorf("%w. Nothing was changed", err)
	}
	return errors.Join(err, undone)
}

// errSwapStays means that the pages in swap do not fit elsewhere now.
var errSwapStays = errors.New("swap stays on")

// takeBack undoes the steps. If swap stays on, it keeps what swap needs; zramfs down removes the
// rest later.
func (u *upRun) takeBack() error {
	var all []error
	for _, undo := range slices.Backward(u.undo) {
		err := undo()
		if all = append(all, err); errors.Is(err, errSwapStays) {
			break
		}
	}
	return errors.Join(all...)
}

func (u *upRun) mount() error {
	report, err := startDevice(u.cfg)
	if err != nil {
		return err
	}
	u.report = report
	u.undo = append(u.undo, func() error { return stopDevice(report) })
	detail := fmt.Sprintf("%s, %s, %s", devices.Device{Dir: report.Dir}.Data(), term.Size(report.Disksize), u.cfg.Algorithm)
	if err := printStep(u.out, "mount", "ok", detail); err != nil {
		return err
	}
	return printProtections(u.out, report.Protections)
}

// errUnsafe means that an essential protection is missing.
var errUnsafe = errors.New("swap could hang the machine")

// checkSafety refuses swap without the essential protections.
func (u *upRun) checkSafety() error {
	missing := protect.Blocking(u.report.Protections)
	if len(missing) == 0 || u.swap.force {
		return nil
	}
	all := make([]string, len(missing))
	for i, p := range missing {
		all[i] = p.Detail
	}
	return fmt.Errorf("%w: %s. --force turns it on anyway", errUnsafe, strings.Join(all, "; "))
}
