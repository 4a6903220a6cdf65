// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
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
			"Freed pages are discarded by default (pages), as zram-generator has it: without that, what processes have " +
			"freed would stay in the device until it is written over. To discard everything once at the start, as both and once do " +
			"besides, changes nothing on a device that was just made.",
		Flags: append(deviceFlags(),
			&cli.IntFlag{Name: flagPriority, Aliases: []string{"p"}, Value: 100,
				Usage: "swap `PRIORITY`, from 0 to 32767: higher ones are used first"},
			&cli.StringFlag{Name: flagDiscard, Aliases: []string{"d"}, Value: string(loopsetup.DiscardPages),
				Usage: "`WHEN` to tell the device what is free: both, once, pages or none"},
			&cli.BoolFlag{Name: flagForce, Usage: "turn swap on even where that is not safe"},
		),
		Action: upAction,
	}
}

// swapConfig is what up adds to a device.
type swapConfig struct {
	priority int
	discard  loopsetup.Discard
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
	swap, err := readSwapConfig(c)
	if err != nil {
		return err
	}
	done, err := upAlready(c.App.Writer, dir)
	if done || err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program as if nothing was caught
	u := &upRun{ctx: ctx, out: c.App.Writer, cfg: cfg, swap: swap}
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

func readSwapConfig(c *cli.Context) (swapConfig, error) {
	s := swapConfig{priority: c.Int(flagPriority), force: c.Bool(flagForce)}
	if s.priority < 0 || s.priority > loopsetup.MaxPriority {
		return s, usageError("priority %d: it is from 0 to %d", s.priority, loopsetup.MaxPriority)
	}
	var err error
	if s.discard, err = loopsetup.ParseDiscard(c.String(flagDiscard)); err != nil {
		return s, usageError("%w", err)
	}
	return s, nil
}

// upAlready says so when dir is swapped to already. A device that is mounted there for something else may hold data.
func upAlready(out io.Writer, dir string) (bool, error) {
	all, err := findDevices()
	if err != nil {
		return false, err
	}
	d, err := pickDevice(all, dir)
	if errors.Is(err, errNotRunning) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if d.Swap == nil {
		return false, fmt.Errorf("%s is mounted, but not used as swap: zramfs down %[1]s removes it, if nobody uses it", d.Dir)
	}
	_, err = fmt.Fprintf(out, "%s is up already: %s of swap at %s, priority %d\n",
		d.Dir, humanSize(d.Swap.Size), d.Swap.Path, d.Swap.Priority)
	return true, err
}

// upRun is one run of up. It is used by one goroutine.
type upRun struct {
	ctx  context.Context // ended by a signal
	out  io.Writer
	cfg  daemon.Config
	swap swapConfig

	report *daemon.Report
	loop   *loopsetup.Device
	undo   []func() error // of the steps that were done, last first
}

// run does the steps, and undoes them when one fails or a signal came.
func (u *upRun) run() error {
	for _, step := range []func() error{u.mount, u.checkSafety, u.attach, u.format, u.turnOn, u.letGo} {
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
		humanSize(u.cfg.Disksize), u.loop.Path(), u.report.Dir)
	return err
}

func (u *upRun) takeBack() error {
	var all []error
	for i := len(u.undo) - 1; i >= 0; i-- {
		all = append(all, u.undo[i]())
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

func (u *upRun) attach() error {
	loop, err := loopsetup.Attach(device{Dir: u.report.Dir}.data(), nil)
	if err != nil {
		return err
	}
	u.loop = loop
	u.undo = append(u.undo, func() error { return errors.Join(loop.Close(), waitDetached(u.report.Dir)) })
	info, err := loopsetup.Inspect(loop.Path())
	if err != nil {
		return err
	}
	detail := fmt.Sprintf("%s, direct I/O, %d-byte blocks", loop.Path(), info.BlockSize)
	if err := printStep(u.out, "loop", "ok", detail); err != nil {
		return err
	}
	for _, w := range loop.Warnings() {
		if err := printStep(u.out, "loop", "warn", w.Error()); err != nil {
			return err
		}
	}
	return nil
}

func (u *upRun) format() error {
	uuid, err := loopsetup.FormatSwap(u.loop.File(), u.cfg.Disksize, swapLabel)
	if err != nil {
		return err
	}
	return printStep(u.out, "mkswap", "ok", "UUID "+uuid)
}

func (u *upRun) turnOn() error {
	dev := u.loop.Path()
	if err := loopsetup.SwapOn(dev, u.swap.priority, u.swap.discard); err != nil {
		return err
	}
	u.undo = append(u.undo, func() error { return loopsetup.SwapOff(dev) })
	return printStep(u.out, "swap", "ok", fmt.Sprintf("priority %d, discard %s", u.swap.priority, u.swap.discard))
}

// letGo closes the loop device: the swap area holds it from now on, and with the end of that the kernel detaches it.
func (u *upRun) letGo() error { return u.loop.Close() }
