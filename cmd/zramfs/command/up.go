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

	"zramfs/cmd/zramfs/daemon"
	"zramfs/loopsetup"
)

const (
	defaultDir   = "/run/zram"
	flagPriority = "priority"
	flagDiscard  = "discard"
	flagForce    = "force"
	flagDevices  = "devices"
	flagSysctl   = "sysctl"
	swapLabel    = "zramfs"
)

func upCommand() *cli.Command {
	return &cli.Command{
		Name:      "up",
		Usage:     "turn on compressed swap",
		ArgsUsage: "[DIR]",
		Description: "Serves a device at DIR (default " + defaultDir + ") as mount does, puts a loop device on it, writes a swap " +
			"header and turns it on. One line is printed for each step; a step that fails undoes those before it. What is up " +
			"already is left alone.\n\n" +
			"With --devices N the data file is cut into N slices, each with a loop device and a swap area of the same priority, " +
			"which the kernel uses in turn: every loop device has one worker in the kernel. To list it is one device all the same.\n\n" +
			"With --sysctl recommended it sets " + sysctlHelp() + ", the last three as they are usual for swap in memory and the first " +
			"by measurement; down restores what was there. Values that cannot be changed here, as in most containers, cost a line.\n\n" +
			"Freed pages are discarded by default (pages), as zram-generator has it: without that, what processes have " +
			"freed would stay in the device until it is written over. To discard everything once at the start, as both and once do " +
			"besides, changes nothing on a device that was just made.",
		Flags: append(deviceFlags(),
			&cli.IntFlag{Name: flagPriority, Aliases: []string{"p"}, Value: 100,
				Usage: "swap `PRIORITY`, from 0 to 32767: higher ones are used first"},
			&cli.StringFlag{Name: flagDiscard, Aliases: []string{"d"}, Value: string(loopsetup.DiscardPages),
				Usage: "`WHEN` to tell the device what is free: both, once, pages or none"},
			&cli.IntFlag{Name: flagDevices, Value: 1, Usage: "number `N` of loop devices and swap areas, from 1 to 32"},
			&cli.StringFlag{Name: flagSysctl, Value: sysctlKeep,
				Usage: "`WHICH` kernel parameters to use while it is up: keep (as they are) or recommended"},
			&cli.BoolFlag{Name: flagForce, Usage: "turn swap on even where that is not safe"},
		),
		Action: upAction,
	}
}

// swapConfig is what up adds to a device.
type swapConfig struct {
	priority int
	discard  loopsetup.Discard
	devices  int    // loop devices, and so swap areas
	sysctl   string // one of the sysctl constants
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
	all, err := findDevices()
	if err != nil {
		return err
	}
	done, err := upAlready(c.App.Writer, dir, all)
	if done || err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program as if nothing was caught
	u := &upRun{ctx: ctx, out: c.App.Writer, machine: thisMachine(), cfg: cfg, swap: swap, others: all}
	return u.run()
}

// oneDir returns the argument DIR, which up and down can do without.
func oneDir(c *cli.Context, name string) (string, error) {
	switch {
	case c.NArg() > 1:
		return "", usageError("%s: one DIR at most", name)
	case c.Args().First() != "":
		return c.Args().First(), nil
	}
	return defaultDir, nil
}

// readSwapConfig reads the flags for a device of size bytes.
func readSwapConfig(c *cli.Context, size uint64) (swapConfig, error) {
	s := swapConfig{priority: c.Int(flagPriority), devices: c.Int(flagDevices), sysctl: c.String(flagSysctl), force: c.Bool(flagForce)}
	if s.priority < 0 || s.priority > loopsetup.MaxPriority {
		return s, usageError("priority %d: it is from 0 to %d", s.priority, loopsetup.MaxPriority)
	}
	if s.devices < 1 || s.devices > maxDevices {
		return s, usageError("devices %d: it is from 1 to %d", s.devices, maxDevices)
	}
	if s.devices > 1 && size/uint64(s.devices) < minSlice {
		return s, usageError("devices %d: %s for each of them is too little, %s is the least", s.devices,
			humanSize(size/uint64(s.devices)), humanSize(minSlice))
	}
	if s.sysctl != sysctlKeep && s.sysctl != sysctlRecommended {
		return s, usageError("sysctl %q is neither %s nor %s", s.sysctl, sysctlKeep, sysctlRecommended)
	}
	var err error
	if s.discard, err = loopsetup.ParseDiscard(c.String(flagDiscard)); err != nil {
		return s, usageError("%w", err)
	}
	return s, nil
}

// upAlready says so when dir is swapped to already. A device that is mounted there for something else may hold data.
func upAlready(out io.Writer, dir string, all []device) (bool, error) {
	d, err := pickDevice(all, dir)
	if errors.Is(err, errNotRunning) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	swap := d.swap()
	if swap == nil {
		return false, fmt.Errorf("%s is mounted, but not used as swap: zramfs down %[1]s removes it, if nobody uses it", d.Dir)
	}
	if errors.Is(d.Err, errDead) || errors.Is(d.Err, errNoAnswer) {
		return false, fmt.Errorf("%s is swap, but %w: zramfs status %s says what to do", strings.Join(loopPaths(d.Loops), " "), d.Err, d.Dir)
	}
	_, err = fmt.Fprintf(out, "%s is up already: %s of swap at %s, priority %d\n",
		d.Dir, humanSize(swap.Size), strings.Join(loopPaths(d.Loops), " "), swap.Priority)
	return true, err
}

// upRun is one run of up. It is used by one goroutine.
type upRun struct {
	ctx     context.Context // ended by a signal
	out     io.Writer
	machine machine
	cfg     daemon.Config
	swap    swapConfig
	others  []device // that were there before

	report *daemon.Report
	device device              // Dir and the loop devices attached so far
	loops  []*loopsetup.Device // those that are held open
	record record
	undo   []func() error // of the steps that were done, last first
}

// run does the steps, and undoes them when one fails or a signal came.
func (u *upRun) run() error {
	for _, step := range []func() error{u.mount, u.checkSafety, u.attach, u.format, u.note, u.hide, u.tune, u.turnOn, u.letGo} {
		err := u.ctx.Err()
		if err != nil {
			err = fmt.Errorf("interrupted: %w", err)
		} else {
			err = step()
		}
		if err != nil {
			return errors.Join(err, u.takeBack())
		}
	}
	_, err := fmt.Fprintf(u.out, "%s of swap at %s. See how it does: zramfs status %s  End it: zramfs down %[3]s\n",
		humanSize(u.cfg.Disksize), strings.Join(loopPaths(u.device.Loops), " "), u.report.Dir)
	return err
}

// errSwapStays means that what is swapped does not fit elsewhere now.
var errSwapStays = errors.New("swap stays on")

// takeBack undoes the steps, and nothing that swap which stays on needs: zramfs down finds all the rest then.
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
	detail := fmt.Sprintf("%s, %s, %s", device{Dir: report.Dir}.data(), humanSize(report.Disksize), u.cfg.Algorithm)
	if err := printStep(u.out, "mount", "ok", detail); err != nil {
		return err
	}
	return printProtections(u.out, report.Protections)
}

// checkSafety refuses swap without the essential protections.
func (u *upRun) checkSafety() error {
	missing := daemon.Blocking(u.report.Protections)
	if len(missing) == 0 || u.swap.force {
		return nil
	}
	all := make([]error, len(missing))
	for i, p := range missing {
		all[i] = fmt.Errorf("%s: %s", p.Name, p.Detail)
	}
	return fmt.Errorf("swap there could hang the machine: %w (--force turns it on all the same)", errors.Join(all...))
}
