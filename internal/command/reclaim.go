// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/reclaim"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

const (
	flagPressure = "pressure"
	flagSwapRate = "swap-rate"
)

func reclaimCommand() *cli.Command {
	d := reclaim.Default
	return &cli.Command{
		Name:  "reclaim",
		Usage: "have control groups put idle memory into swap before the machine is short",
		Description: fmt.Sprintf("Until a signal ends it, it asks each group every %.0f s for %.0f %% of its memory at the most: the kernel drops pages "+
			"of files and writes idle pages to swap (memory.reclaim of cgroup v2, Linux 5.19). The longer programs of the group wait for memory or "+
			"files, the less it asks for, and nothing once they wait for longer than --pressure. It works for every kind of swap.\n\n",
			d.Interval.Seconds(), 100*d.Probe) +
			fmt.Sprintf("It asks for nothing while %.0f %% of swap or of a device's memory limit are in use, after more than --swap-rate was written "+
				"to swap, and of groups with less than %s. Protect a group by memory.low or memory.min.\n\n", 100*d.Full, term.Size(d.Floor)) +
			"It prints a line for a group whenever it begins or ends to ask, and why, and at the end what each gave. PATH is a directory, or a path as " +
			"/proc/PID/cgroup shows it.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: flagCgroup, Usage: "the control group at `PATH`, with those below it"},
			everyFlag("all groups directly below the top, as system.slice and user.slice"),
			&cli.StringFlag{Name: flagPressure, Value: percent(d.Pressure), Usage: "programs may wait for `SHARE` of the time"},
			&cli.StringFlag{Name: flagSwapRate, Value: "1M", Usage: "the machine may write `SIZE` a second to swap"},
			&cli.BoolFlag{Name: flagDryRun, Aliases: []string{"n"}, Usage: "only say what would be asked for"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON, an object a line for each look at a group"},
		},
		Action: reclaimAction,
	}
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', -1, 64) + "%" }

func reclaimAction(c *cli.Context) error {
	p := &reclaimPrinter{out: c.App.Writer, json: c.Bool(flagJSON), dry: c.Bool(flagDryRun), last: map[string]string{}, gave: map[string]uint64{}}
	r := &reclaim.Reclaimer{Machine: host.Local, Policy: reclaim.Default, DryRun: p.dry, Fullest: fullestDevice, Tell: p.tell}
	if err := reclaimOptions(c, r); err != nil {
		return err
	}
	if err := r.Prepare(); err != nil {
		return fmt.Errorf("reclaim: %w", err)
	}
	ctx, stop := interruptible(c.Context)
	defer stop()
	begun := time.Now()
	err := r.Run(ctx)
	return errors.Join(err, p.end(time.Since(begun)))
}

// reclaimOptions reads the flags.
func reclaimOptions(c *cli.Context, r *reclaim.Reclaimer) error {
	group := c.String(flagCgroup)
	switch {
	case c.Args().Present():
		return usageError("reclaim: takes no argument %q; a group is --cgroup PATH", c.Args().First())
	case c.IsSet(flagCgroup) == c.Bool(flagAll):
		return usageError("reclaim: name either --cgroup PATH or --all")
	case c.IsSet(flagCgroup) && group == "":
		return usageError("reclaim: --cgroup is empty")
	}
	share, ok := strings.CutSuffix(c.String(flagPressure), "%")
	value, err := strconv.ParseFloat(share, 64)
	if !ok || err != nil || math.IsNaN(value) || value <= 0 || value > 100 {
		return usageError("reclaim: --pressure %q: want a share of the time above 0%% and up to 100%%, as %s", c.String(flagPressure), percent(reclaim.Default.Pressure))
	}
	r.Policy.Pressure = value / 100
	rate, err := term.ParseBytes(c.String(flagSwapRate), 0)
	if err != nil || rate == 0 {
		return usageError("reclaim: --swap-rate %q: want a number of bytes a second, as 1M", c.String(flagSwapRate))
	}
	r.Policy.SwapRate = rate
	if group != "" {
		r.Groups, err = groupAt(group)
	}
	return err
}

// groupAt finds the directory of a group by it, or by its path below the top of the hierarchy.
func groupAt(path string) ([]string, error) {
	dir, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	h, err := host.Local.MemoryHierarchy()
	if err != nil || h.Top == "" {
		return []string{dir}, err // Prepare says what is missing
	}
	if _, err := h.Current(dir); errors.Is(err, fs.ErrNotExist) {
		dir = filepath.Join(h.Top, filepath.Join("/", path))
	}
	return []string{dir}, nil
}

// fullestDevice is the largest share of its memory limit that a device takes. A device that does
// not answer, or cannot be looked for, counts as full: pages may wait for it.
func fullestDevice() float64 {
	all, err := swapdev.Find()
	if err != nil {
		return 1
	}
	return fullest(all)
}

// fullest is the largest share of some devices.
func fullest(all []swapdev.Device) (share float64) {
	for _, d := range all {
		switch {
		case d.Status == nil:
			share = 1
		case d.Status.MemLimit != 0:
			share = max(share, float64(d.Status.Memory.MemUsedTotal)/float64(d.Status.MemLimit))
		}
	}
	return share
}

// A reclaimPrinter prints what becomes of groups.
type reclaimPrinter struct {
	out       io.Writer
	json, dry bool
	last      map[string]string // what was said of a group
	gave      map[string]uint64 // bytes by group
}

// reclaimLine is a line of the JSON of reclaim.
type reclaimLine struct {
	Schema int `json:"schema"`
	reclaim.Round
}

func (p *reclaimPrinter) tell(r reclaim.Round) error {
	p.gave[r.Group] += r.ReclaimedBytes
	if p.json {
		return printJSONLine(p.out, reclaimLine{Schema: jsonSchema, Round: r})
	}
	state := "waits, " + r.Reason
	if r.Reason == "" {
		state = "is asked"
	}
	if p.last[r.Group] == state {
		return nil
	}
	p.last[r.Group] = state
	if r.Reason == "" {
		verb := "is asked for"
		if p.dry {
			verb = "would be asked for"
		}
		state = fmt.Sprintf("%s %s of %s", verb, term.Size(r.AskedBytes), term.Size(r.MemoryBytes))
	}
	_, err := fmt.Fprintf(p.out, "%s %s %s\n", r.Time.Format(time.TimeOnly), r.Group, state)
	return err
}

// end prints what each group gave.
func (p *reclaimPrinter) end(took time.Duration) error {
	if p.json || p.dry {
		return nil
	}
	for _, group := range slices.Sorted(maps.Keys(p.gave)) {
		if _, err := fmt.Fprintf(p.out, "%s gave %s in %s\n", group, term.Size(p.gave[group]), took.Round(time.Second)); err != nil {
			return err
		}
	}
	return nil
}
