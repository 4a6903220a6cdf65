// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/zswap"
	"github.com/zramfs/zramfs/loopsetup"
)

func growCommand() *cli.Command {
	discard := discardFlag()
	discard.DefaultText = "that of the device"
	return &cli.Command{
		Name:      "grow",
		Usage:     "add swap to a device in use",
		ArgsUsage: "[DIR]",
		Description: "Makes an extra device below DIR (default " + defaultDir + ") by control/hot_add, puts loop devices on it and turns swap " +
			"on there, as up does; swap on DIR goes on. The extra device is DIR/devices/zram1, or the next number, with processes and a " +
			"memory limit of its own. If a step fails, those before it are undone. zramfs down DIR ends it too, and zramfs down " +
			"DIR/devices/zram1 it alone.\n\n" +
			"Its areas have priorities below all areas of DIR, so that the kernel uses those again first.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: flagSize, Aliases: []string{"s"}, Usage: "`SIZE` of the extra device, as 4G, or as 50% of RAM"},
			&cli.StringFlag{Name: flagAlgorithm, Aliases: []string{"a"}, DefaultText: "that of the device", Usage: "compression `ALGORITHM`, as of up"},
			limitFlag(),
			&cli.IntFlag{Name: flagPriority, Aliases: []string{"p"}, DefaultText: "below the device's", Usage: "swap `PRIORITY`, from 0 to 32767"},
			discard,
			areasFlag(),
			&cli.BoolFlag{Name: flagForce, Usage: "turn swap on even if that is not safe"},
			sectionFlag(),
		}, narrationFlags()...),
		Action: growAction,
	}
}

func growAction(c *cli.Context) error {
	said, err := newNarration(c, c.App.Writer)
	if err != nil {
		return err
	}
	u := &swapdev.Up{Out: said, Machine: host.Local}
	if err := readGrow(c, u); err != nil {
		return err
	}
	first, err := namedDevice(c, "grow")
	if err != nil {
		return err
	}
	if err := fitGrow(c, u, first); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills the program
	u.Context = ctx
	if err := u.Grow(first); err != nil {
		return err
	}
	if err := summarizeGrow(c, u, first); err != nil {
		return u.GiveUp(err) // as up does
	}
	return nil
}

// readGrow reads all flags but those that depend on the device.
func readGrow(c *cli.Context, u *swapdev.Up) error {
	if !c.IsSet(flagSize) {
		return usageError("grow: name the size of the extra device, as --%s 4G", flagSize)
	}
	ram, err := host.Local.MemTotal()
	if err != nil {
		ram = 0 // a size in per cent is then refused with that reason
	}
	if u.Config.Disksize, err = parseSize(c.String(flagSize), ram); err != nil {
		return err
	}
	if u.Config.MemLimit, err = parseLimit(c.String(flagMemLimit), ram); err != nil {
		return err
	}
	if err := checkLimit(u.Config.MemLimit, u.Config.Disksize); err != nil {
		return err
	}
	if c.IsSet(flagAlgorithm) {
		if u.Config.Algorithm, err = parseAlgorithm(c.String(flagAlgorithm)); err != nil {
			return err
		}
	}
	priority := loopsetup.MaxPriority
	if c.IsSet(flagPriority) {
		priority = c.Int(flagPriority)
	}
	u.Swap, err = readAreas(c, u.Config.Disksize, priority, zswap.Running(host.Local))
	return err
}

// fitGrow sets what follows from the device where no flag says otherwise.
func fitGrow(c *cli.Context, u *swapdev.Up, first swapdev.Device) (err error) {
	switch {
	case first.Status == nil:
		return fmt.Errorf("grow %s: %w", first.Word(), first.Err)
	case first.Swap() == nil && first.Unseen != nil:
		return fmt.Errorf("grow %s: %w", first.Word(), first.Unseen)
	case first.Swap() == nil:
		return fmt.Errorf("%s is not used as swap: zramfs up turns swap on", first.Word())
	}
	if !c.IsSet(flagAlgorithm) {
		if u.Config.Algorithm, err = codec.Parse(first.Status.Algorithm); err != nil {
			return fmt.Errorf("the algorithm of %s: %w: name another by --%s", first.Word(), err, flagAlgorithm)
		}
	}
	if !c.IsSet(flagPriority) {
		priority, err := swapdev.PriorityBelow(first)
		if err != nil {
			return err
		}
		if u.Swap, err = readAreas(c, u.Config.Disksize, priority, zswap.Running(host.Local)); err != nil {
			return err
		}
	}
	if rec := first.Record; !c.IsSet(flagDiscard) && rec != nil {
		if u.Swap.Discard, err = loopsetup.ParseDiscard(rec.Discard); err != nil {
			return err
		}
	}
	u.Swap.Keep = keeps(first)
	return nil
}

// summarizeGrow prints the summary of an extra device that is up.
func summarizeGrow(c *cli.Context, u *swapdev.Up, first swapdev.Device) error {
	if u.Out.How == flagQuiet {
		return nil
	}
	status, _ := swapdev.ReadStatus(u.Report.Dir) // without it the summary has no memory line
	s := newSummary(u.Config, u.Report, swapdev.Device{Status: status}, u.Out)
	s.Loops, s.Priority = swapdev.LoopPaths(u.Device.Loops), &u.Swap.Priority
	if u.Out.How == flagJSON {
		return printJSON(c.App.Writer, map[string]summary{"grow": s})
	}
	next := summary{Dir: first.Dir}
	_, err := fmt.Fprintf(c.App.Writer, "%s of compressed swap added to %s: %s, priority %d, algorithm %s\n%s%s%s", term.Size(s.Size), first.Word(),
		swapdev.AreaNames(s.Loops), *s.Priority, s.Algorithm, s.memoryText(), s.warningText(), next.nextText("down"))
	return err
}
