// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/top"
)

const (
	flagInterval = "interval"
	flagOnce     = "once"
	// top(1) has these too.
	flagBatchMode = "batch"
	flagCount     = "count"
)

func topCommand() *cli.Command {
	return &cli.Command{
		Name:      "top",
		Usage:     "show devices live on the whole screen",
		ArgsUsage: "[DIR...]",
		Description: "Shows how full swap is and when it will be, memory and what it saves, the ratio, pages a second and the latency of " +
			"requests over time, codecs, processor time, memory pressure, what is wrong, and the processes with the most in swap. " +
			"Keys: q quit, w processes, p pause, tab next device, ? help. It fits screens of any size; NO_COLOR turns colours off.\n\n" +
			"With --batch it prints a line for each device at each interval, for scripts: vmstat for compressed swap. All rates, and the " +
			"latencies p50 and p99, are of the interval alone. Columns:\n" + topColumnHelp(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: flagInterval, Aliases: []string{"d"}, Value: "1", Usage: "`SECONDS` between two looks"},
			&cli.BoolFlag{Name: flagOnce, Usage: "print one screen as text, and end"},
			&cli.BoolFlag{Name: flagBatchMode, Aliases: []string{"b"}, Usage: "print a line at each interval"},
			&cli.IntFlag{Name: flagCount, Aliases: []string{"n"}, DefaultText: "no end", Usage: "with --batch: end after `N` lines of each device"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "with --batch: print a JSON object a line, sizes in bytes"},
		},
		Action: topAction,
	}
}

func topAction(c *cli.Context) error {
	interval, err := readInterval(c.String(flagInterval))
	if err != nil {
		return usageError("top: --%s %w", flagInterval, err)
	}
	batch, count := c.Bool(flagBatchMode), c.Int(flagCount)
	switch {
	case !batch && (c.IsSet(flagCount) || c.Bool(flagJSON)):
		return usageError("top: --%s and --%s go with --%s", flagCount, flagJSON, flagBatchMode)
	case batch && c.Bool(flagOnce):
		return usageError("top: --%s and --%s exclude each other", flagBatchMode, flagOnce)
	case c.IsSet(flagCount) && count < 1:
		return usageError("top: --%s %d: must be 1 at least", flagCount, count)
	}
	dirs, err := dirsNamed(c, c.Args().Slice())
	if err != nil {
		return err
	}
	if batch {
		return topBatch(c, dirs, interval, count)
	}
	o := top.Options{Dirs: dirs, Interval: interval, UTF8: term.UTF8()}
	if _, err := takeSamples(dirs); err != nil {
		return err
	}
	if c.Bool(flagOnce) {
		width, height := term.Screen()
		err = top.Once(c.App.Writer, o, width, height)
	} else if term.Width() == 0 {
		err = errors.New("standard output is no terminal: use --batch or --once")
	} else {
		ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		err = top.Run(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("top: %w", err)
	}
	return nil
}
