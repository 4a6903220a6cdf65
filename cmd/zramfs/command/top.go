// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/monitor"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
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
	screen := &monitor.Screen{Dirs: dirs, Interval: interval, UTF8: term.UTF8(), Once: c.Bool(flagOnce)}
	if _, err := takeSamples(screen.Dirs); err != nil {
		return err
	}
	if screen.Once {
		screen.Width, screen.Height = term.Screen()
	} else if term.Width() == 0 {
		return errors.New("top: standard output is no terminal: use zramfs stats, or top --once")
	}
	return monitor.Order{Task: monitor.Top, Screen: screen, Build: ownBuild()}.Start()
}
