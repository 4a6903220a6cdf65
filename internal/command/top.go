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
)

func topCommand() *cli.Command {
	return &cli.Command{
		Name:      "top",
		Usage:     "show devices live on the whole screen",
		ArgsUsage: "[DIR...]",
		Description: "Shows how full swap is and when it will be, memory and what it saves, the ratio, pages a second and the latency of " +
			"requests over time, codecs, processor time, memory pressure, what is wrong, and the processes with the most in swap. " +
			"Keys: q quit, w processes, p pause, tab next device, ? help. It fits screens of any size; NO_COLOR turns colours off.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: flagInterval, Aliases: []string{"d"}, Value: "1", Usage: "`SECONDS` between two looks"},
			&cli.BoolFlag{Name: flagOnce, Usage: "print one screen as text, and end"},
		},
		Action: topAction,
	}
}

func topAction(c *cli.Context) error {
	interval, err := readInterval(c.String(flagInterval))
	if err != nil {
		return usageError("top: --%s %w", flagInterval, err)
	}
	dirs, err := dirsNamed(c, c.Args().Slice())
	if err != nil {
		return err
	}
	o := top.Options{Dirs: dirs, Interval: interval, UTF8: term.UTF8()}
	if _, err := takeSamples(dirs); err != nil {
		return err
	}
	if c.Bool(flagOnce) {
		width, height := term.Screen()
		err = top.Once(c.App.Writer, o, width, height)
	} else if term.Width() == 0 {
		err = errors.New("standard output is no terminal: use zramfs stats, or top --once")
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
