// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/setup"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
)

const flagWait = "wait"

func downCommand() *cli.Command {
	return &cli.Command{
		Name:      "down",
		Usage:     "turn compressed swap off and end its device",
		ArgsUsage: "[DIR]",
		Description: "Brings back what is in swap, after checking that it fits into memory and the limits of control groups, " +
			"detaches the loop devices, gives the kernel parameters that up changed their old values, unless they have been changed " +
			"since, and unmounts DIR (default " + defaultDir + "), also in the mount namespace where it was mounted. A device that is not " +
			"running is no error. down can be interrupted while pages come back: swap then stays on.",
		Flags: append(narrationFlags(),
			&cli.BoolFlag{Name: flagForce, Usage: "go on even if it does not fit into memory, or the serving process does not answer"},
			&cli.UintFlag{Name: flagWait, Usage: "retry for `SECONDS` while it does not fit"},
			sectionFlag(),
		),
		Action: downAction,
	}
}

func downAction(c *cli.Context) error {
	dir, _, err := dirOrSection(c, "down")
	if err != nil {
		return err
	}
	said, err := newNarration(c, c.App.Writer)
	if err != nil {
		return err
	}
	r := &setup.Down{Out: said, Force: c.Bool(flagForce), Until: time.Now().Add(time.Duration(c.Uint(flagWait)) * time.Second)}
	d, err := devices.FindOne(dir)
	if errors.Is(err, devices.ErrNotRunning) {
		return errors.Join(forgetGone(r.Out, host.Local, dir, err), sayDown(said, downSummary{Dir: dir}))
	}
	if err != nil {
		return err
	}
	if d.Mountpoint != "" {
		return fmt.Errorf("%s has a file system on %s: umount it first", d.Name(), d.Mountpoint)
	}
	s := downSummary{Dir: d.Dir, WasUp: true, BroughtBack: d.Used()}
	if err := r.Run(d); err != nil {
		return err
	}
	return sayDown(said, s)
}

// A downSummary is the result of down; its JSON is what --json prints.
type downSummary struct {
	Dir         string   `json:"dir"`
	WasUp       bool     `json:"was_up"`
	BroughtBack uint64   `json:"brought_back"` // bytes that were in swap
	Warnings    []string `json:"warnings"`
}

// sayDown prints the summary. Without a device, down has said so already.
func sayDown(n *setup.Narration, s downSummary) error {
	s.Warnings = append([]string{}, n.Warnings...) // not nil: it is printed as a JSON array
	if n.How == flagJSON {
		return printJSON(n.Out, map[string]downSummary{"down": s})
	}
	if s.WasUp {
		if _, err := fmt.Fprintf(n, "%s is down: %s brought back from swap\n", s.Dir, term.Size(s.BroughtBack)); err != nil {
			return err
		}
	}
	for _, w := range s.Warnings {
		if _, err := fmt.Fprintf(n, "  warning  %s\n", w); err != nil {
			return err
		}
	}
	return nil
}

// forgetGone says that dir has no device, and restores the kernel parameters that a device which
// died there changed.
func forgetGone(out io.Writer, m host.Root, dir string, absent error) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, absent); err != nil {
		return err
	}
	return setup.Forget(out, m, devices.Device{Dir: path})
}
