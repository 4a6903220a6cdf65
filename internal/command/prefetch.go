// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/prefetch"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/term"
)

const (
	flagCgroup = "cgroup"
	flagLimit  = "limit"
	flagDryRun = "dry-run"
)

func prefetchCommand() *cli.Command {
	return &cli.Command{
		Name:  "prefetch",
		Usage: "bring swapped-out memory of processes back in bulk",
		Description: "Reads the swapped pages of processes back before they touch them, many at once, two to three times as fast as by " +
			"page faults: the largest process first, and in it the longest run of pages. It works for every kind of swap.\n\n" +
			fmt.Sprintf("It stops where a 32nd of the machine's memory (at least 64M) is left, or a 32nd below the memory limit of a control "+
				"group, and when programs wait for memory: it pauses while some avg10 of /proc/pressure/memory is above %d, and gives up "+
				"after %.0f s of that.\n\n", prefetch.PressureLimit, prefetch.Patience.Seconds()) +
			"It takes private memory: no shared memory or tmpfs. Pages that several processes share count once. It needs root, with " +
			"CAP_SYS_PTRACE and CAP_SYS_NICE. PATH is a directory, or a path as /proc/PID/cgroup shows it.",
		Flags: []cli.Flag{
			&cli.IntSliceFlag{Name: flagPID, Aliases: []string{"p"}, Usage: "processes: `PID`, several with commas or by repeating it"},
			&cli.StringFlag{Name: flagCgroup, Usage: "all processes in the control group at `PATH` and below it"},
			&cli.StringFlag{Name: flagLimit, Usage: "bring back `SIZE` at most"},
			&cli.BoolFlag{Name: flagDryRun, Aliases: []string{"n"}, Usage: "only say what would be brought back"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"},
		},
		Action: prefetchAction,
	}
}

func prefetchAction(c *cli.Context) error {
	o, err := prefetchOptions(c)
	if err != nil {
		return err
	}
	o.Progress = func(pages int64) term.Steps { return term.NewSteps(c.App.ErrWriter, "prefetching", pages) }
	ctx, stop := interruptible(c.Context)
	defer stop()
	r, err := helper.Prefetch(ctx, endingTime, o)
	if err != nil && ctx.Err() != nil {
		err = imageio.ErrInterrupted
	}
	if err != nil {
		return fmt.Errorf("prefetch: %w", err)
	}
	if err := printPrefetch(c, r); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("prefetch: %w", imageio.ErrInterrupted)
	case r.Incomplete() && !r.DryRun:
		return exitWith(exitFailure)
	}
	return nil
}

func printPrefetch(c *cli.Context, r prefetch.Report) error {
	if c.Bool(flagJSON) {
		return printJSON(c.App.Writer, map[string]prefetch.Report{"prefetch": r})
	}
	return printReport(c.App.Writer, false, r)
}

// prefetchOptions reads the flags.
func prefetchOptions(c *cli.Context) (o prefetch.Options, err error) {
	switch {
	case c.Args().Present():
		return o, usageError("prefetch: takes no argument %q; several processes are --pid 1,2", c.Args().First())
	case c.IsSet(flagPID) && c.IsSet(flagCgroup):
		return o, usageError("prefetch: mutually exclusive arguments: --pid --cgroup")
	case !c.IsSet(flagPID) && !c.IsSet(flagCgroup):
		return o, usageError("prefetch: name the processes: --pid or --cgroup")
	}
	o.DryRun = c.Bool(flagDryRun)
	o.Serving = []string{status.ServerName, ballast.ProcessName}
	if c.IsSet(flagLimit) {
		ram, err := host.Local.MemTotal()
		if err != nil {
			return o, err
		}
		if o.Limit, err = term.ParseBytes(c.String(flagLimit), ram); err != nil {
			return o, usageError("limit %q: %w", c.String(flagLimit), err)
		}
		if o.Limit == 0 {
			return o, usageError("limit %q: nothing would be brought back; leave --limit out for no limit", c.String(flagLimit))
		}
	}
	if c.IsSet(flagPID) {
		o.Named = true
		o.PIDs, err = readPIDs(c, "prefetch")
		return o, err
	}
	if c.String(flagCgroup) == "" {
		return o, usageError("prefetch: --cgroup is empty")
	}
	if o.PIDs, err = prefetch.InGroup(c.Context, c.String(flagCgroup)); err != nil {
		return o, fmt.Errorf("prefetch: %w", err)
	}
	return o, nil
}
