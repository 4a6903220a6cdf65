// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/doctor"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/notify"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/tune"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/internal/zswap"
	"github.com/zramfs/zramfs/loopsetup"
)

const (
	defaultDir   = "/run/zram"
	flagPriority = "priority"
	flagDiscard  = "discard"
	flagForce    = "force"
	flagDevices  = "devices"
	flagKeep     = "keep"

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
			"as in most containers, cost a line. Without it no parameter but zswap's changes.\n\n" +
			"With --zswap auto (the default), on or a share of RAM, the kernel's zswap keeps pages that were used lately, at its own speed, and the device gets " +
			"those that zswap writes back. auto does so where the kernel is fit for it (Linux 6.9, zsmalloc) and leaves zswap alone where it is on " +
			"already. It is one for all swap devices of the machine; down restores what was there.\n\n" +
			"When swapoff turns all its areas off, the device ends, and the kernel parameters get their old values; with --keep it stays, as " +
			"/dev/zram0 does, until down.\n\n" +
			"On a node of Kubernetes whose kubelet has failSwapOn true, which is its default, up refuses: swap would keep the kubelet from starting " +
			"again. --force turns swap on all the same.\n\n" +
			"Freed pages are discarded by default (pages), as zram-generator has it: without that, what processes have " +
			"freed would stay in the device until it is written over. To discard everything once at the start, as both and once do " +
			"besides, changes nothing on a device that was just made.",
		Flags: append(append(deviceFlags(), narrationFlags()...),
			&cli.IntFlag{Name: flagPriority, Aliases: []string{"p"}, Value: defaultPriority,
				Usage: "swap `PRIORITY`, from 0 to 32767: higher ones are used first"},
			discardFlag(),
			areasFlag(),
			slotsFlag(),
			tuneFlag(),
			zswapFlag(),
			&cli.BoolFlag{Name: flagKeep, Usage: "leave the device for another swapon when swap is turned off by swapoff; down ends it"},
			&cli.BoolFlag{Name: flagForce, Usage: "turn swap on even if that is not safe, or a kubelet refuses swap"},
			&cli.BoolFlag{Name: flagAll, Usage: "turn on the devices of all sections of the configuration"},
			sectionFlag(),
			configRootFlag(),
		),
		Action: upAction,
	}
}

func discardFlag() *cli.StringFlag {
	return &cli.StringFlag{Name: flagDiscard, Aliases: []string{"d"}, Value: string(loopsetup.DiscardPages),
		Usage: "`WHEN` to tell the device what is free: both, once, pages or none"}
}

func areasFlag() *cli.IntFlag {
	return &cli.IntFlag{Name: flagDevices, DefaultText: "by size", Usage: "number `N` of loop devices and swap areas, from 1 to 32"}
}

func upAction(c *cli.Context) error {
	if c.Bool(flagAll) {
		return upAll(c)
	}
	w := place{tell: notify.Ready}
	var err error
	if w.dir, w.section, err = dirOrSection(c, "up"); err != nil {
		return err
	}
	conf, err := loadConfig(c)
	if err != nil {
		return err
	}
	err = configure(c, conf, w.dir)
	if off := (*offError)(nil); errors.As(err, &off) && notify.Wanted() {
		return errors.Join(sayAll(c, err.Error()), notify.Ready(0, err.Error()))
	}
	if err != nil {
		return err
	}
	return upAt(c, w)
}

// A place is where a device is to be.
type place struct {
	dir     string
	section string // by which it was asked for; empty for none
	// tell is notify.Ready, or stands for it.
	tell func(pid int, status string) error
}

// upAt turns on swap on the device at a place.
func upAt(c *cli.Context, at place) error {
	var o upOrder
	dir := at.dir
	if err := readUp(c, dir, &o); err != nil {
		return err
	}
	o.swap.Section = at.section
	if err := doctor.CanSwap(host.Local); err != nil {
		return err
	}
	all, err := swapdev.FindForUp(dir)
	if err != nil {
		return err
	}
	if d, err := swapdev.UpAlready(all); d != nil || err != nil {
		if err == nil {
			err = sayUp(c, o.said, *d, wish{cfg: o.cfg, swap: o.swap, set: c.IsSet, tell: at.tell})
		}
		return err
	}
	if !o.swap.Force {
		if err := allowedByKubelet(host.Local); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills the program
	u := &swapdev.Up{Context: ctx, Out: o.said, Machine: host.Local, Config: o.cfg, Swap: o.swap, Tell: at.tell}
	if err := u.Run(); err != nil {
		return err
	}
	if err := summarizeUp(c, o.said, u); err != nil {
		return u.GiveUp(err) // the user must know of each running device
	}
	return nil
}

// An upOrder is everything that the flags of up say.
type upOrder struct {
	cfg  zramfsd.Config
	swap swapdev.SwapConfig
	said *swapdev.Narration
}

// readUp reads the flags of up for the device at dir.
func readUp(c *cli.Context, dir string, o *upOrder) (err error) {
	if o.cfg, err = configFor(c, dir); err != nil {
		return err
	}
	if o.swap, err = readSwapConfig(c, o.cfg.Disksize); err != nil {
		return err
	}
	o.said, err = newNarration(c, c.App.Writer)
	return err
}

// readSwapConfig reads the flags for a device of size bytes.
func readSwapConfig(c *cli.Context, size uint64) (swapdev.SwapConfig, error) {
	policy, err := readZswap(c, host.Local)
	if err != nil {
		return swapdev.SwapConfig{}, err
	}
	s, err := readAreas(c, size, c.Int(flagPriority), swapdev.ZswapInFront(host.Local, policy))
	if err != nil {
		return s, err
	}
	s.Keep, s.Zswap = c.Bool(flagKeep), policy
	if s.Tune, err = readTune(c); err != nil {
		return s, err
	}
	if s.Slots, err = ballast.ParsePolicy(c.String(flagSlots)); err != nil {
		return s, usageError("%w", err)
	}
	return s, nil
}

// readAreas reads the flags for the swap areas of a device of size bytes; the first has that
// priority.
func readAreas(c *cli.Context, size uint64, priority int, zswap bool) (swapdev.SwapConfig, error) {
	s := swapdev.SwapConfig{Priority: priority, Devices: c.Int(flagDevices), Force: c.Bool(flagForce)}
	if s.Priority < 0 || s.Priority > loopsetup.MaxPriority {
		return s, usageError("priority %d: must be from 0 to %d", s.Priority, loopsetup.MaxPriority)
	}
	if !c.IsSet(flagDevices) {
		s.Devices = swapdev.DefaultAreas(size, s.Priority, zswap)
	}
	if s.Devices < 1 || s.Devices > swapdev.MaxAreas {
		return s, usageError("devices %d: must be from 1 to %d", s.Devices, swapdev.MaxAreas)
	}
	if s.Priority < s.Devices-1 {
		return s, usageError("priority %d: %d areas of descending priority need %d at least", s.Priority, s.Devices, s.Devices-1)
	}
	if first := swapdev.FirstArea(size, s.Devices); s.Devices > 1 && first < swapdev.MinArea {
		return s, usageError("devices %d: %s for the first of them is too little, %s is the least", s.Devices,
			term.Size(first), term.Size(swapdev.MinArea))
	}
	var err error
	if s.Discard, err = loopsetup.ParseDiscard(c.String(flagDiscard)); err != nil {
		return s, usageError("discard %q: use both, once, pages or none", c.String(flagDiscard))
	}
	return s, checkSwapSize(c.String(flagSize), size)
}

// summarizeUp prints the summary of a device that is up.
func summarizeUp(c *cli.Context, said *swapdev.Narration, u *swapdev.Up) error {
	if said.How == flagQuiet {
		return nil
	}
	d, _ := swapdev.FindOne(u.Report.Dir) // without it the summary has no memory line
	s := newSummary(u.Config, u.Report, d, said)
	s.Loops, s.Priority = swapdev.LoopPaths(u.Device.Loops), &u.Swap.Priority
	if u.Swap.Zswap.Mode != zswap.Off && zswap.Running(host.Local) {
		s.Zswap = zswap.Describe(host.Local)
	}
	if said.How == flagJSON {
		return printJSON(c.App.Writer, map[string]summary{"up": s})
	}
	_, err := fmt.Fprint(c.App.Writer, s.swapText(), s.zswapText(), s.memoryText(), s.warningText(), s.nextText("down"))
	return err
}
