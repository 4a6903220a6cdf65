// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/uprecord"
)

const flagWait = "wait"

func downCommand() *cli.Command {
	return &cli.Command{
		Name:      "down",
		Usage:     "turn compressed swap off and end its device",
		ArgsUsage: "[DIR]",
		Description: "Brings back what is in swap, after checking that it fits into memory and the limits of control groups, " +
			"detaches the loop devices, gives the kernel parameters that up changed their old values, unless they have been changed " +
			"since, and unmounts DIR (default " + defaultDir + "), also in the mount namespace where it was mounted. Extra devices of DIR that are swap " +
			"end with it. A device that is not running is no error, unless others run. down can be interrupted while pages come back: swap then stays on. --all ends every device; one that fails " +
			"leaves the others to do, and one without swap, which may hold data, is left alone and is an error.",
		Flags: append(narrationFlags(),
			&cli.BoolFlag{Name: flagForce, Usage: "go on even if it does not fit into memory, the serving process does not answer, or there is no device"},
			&cli.UintFlag{Name: flagWait, Usage: "retry for `SECONDS` while it does not fit"},
			sectionFlag(),
			everyFlag("end every device that up has turned on"),
		),
		Action: downAction,
	}
}

func downAction(c *cli.Context) error {
	until := waitUntil(time.Now(), c.Uint(flagWait))
	if c.Bool(flagAll) {
		return everyDevice(c, "down", func(d swapdev.Device) error { return downSwap(c, d, until) })
	}
	dir, section, err := dirOrSection(c, "down")
	if err != nil {
		return err
	}
	d, err := swapdev.FindOne(dir)
	if err != nil && !errors.Is(err, swapdev.ErrNotRunning) {
		return err
	}
	if err == nil {
		return downDevice(c, d, until)
	}
	return downGone(c, dir, section, err)
}

// downGone is down for a dir without a device, which may be a slip: it fails where other devices
// run. It does not for a section, so that a service whose device has ended can stop, for a device
// that died there, and with --force.
func downGone(c *cli.Context, dir, section string, absent error) error {
	said, err := newNarration(c, c.App.Writer)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	died := slices.ContainsFunc(uprecord.Read(host.Local), func(r uprecord.Record) bool { return r.Of(path) })
	others, err := swapdev.Find()
	if err != nil {
		return err
	}
	if len(others) > 0 && section == "" && !died && !c.Bool(flagForce) {
		return absent
	}
	return errors.Join(forgetGone(said, host.Local, path, absent), sayDown(said, downSummary{Dir: dir}))
}

// waitUntil is when a wait of that many seconds ends. More than a century is one: a Duration has
// no room for three.
func waitUntil(now time.Time, seconds uint) time.Time {
	const century = 100 * 365 * 24 * 60 * 60
	return now.Add(time.Duration(min(seconds, century)) * time.Second)
}

// downSwap is downDevice for a device that up has turned on.
func downSwap(c *cli.Context, d swapdev.Device, until time.Time) error {
	if d.Record == nil && len(d.Swaps) == 0 && d.Unseen == nil {
		return fmt.Errorf("%s is not swap and may hold data: zramfs umount %[1]s ends it", d.Word())
	}
	if d.Mountpoint == "" && swapdev.Ended(d) { // with the device of its directory
		return nil
	}
	return downDevice(c, d, until)
}

// downDevice ends d and says so; until bounds the wait for memory.
func downDevice(c *cli.Context, d swapdev.Device, until time.Time) error {
	if d.Mountpoint != "" {
		return fmt.Errorf("%s has a file system on %s: umount it first", d.Name(), d.Mountpoint)
	}
	said, err := newNarration(c, c.App.Writer)
	if err != nil {
		return err
	}
	r := &swapdev.Down{Out: said, Force: c.Bool(flagForce), Until: until}
	if err := r.Run(d); err != nil {
		return err
	}
	return sayDown(said, downSummary{Dir: d.Dir, WasUp: true, BroughtBack: r.Used})
}

// A downSummary is the result of down; its JSON is what --json prints.
type downSummary struct {
	Dir         string   `json:"dir"`          // its mount point
	WasUp       bool     `json:"was_up"`       // whether there was one
	BroughtBack uint64   `json:"brought_back"` // bytes that were in swap
	Warnings    []string `json:"warnings"`     // what was not restored
}

// sayDown prints the summary. Without a device, down has said so already.
func sayDown(n *swapdev.Narration, s downSummary) error {
	s.Warnings = append([]string{}, n.Warnings...) // not nil: it is printed as a JSON array
	if n.How == flagJSON {
		return printJSON(n.Out, map[string]downSummary{"down": s})
	}
	if s.WasUp {
		if _, err := fmt.Fprintf(n, "%s is down: %s brought back from swap\n", term.ShellWord(s.Dir), term.Size(s.BroughtBack)); err != nil {
			return err
		}
	}
	for _, w := range s.Warnings {
		if _, err := fmt.Fprintf(n, "  warning  %s\n", term.Printable(w)); err != nil {
			return err
		}
	}
	return nil
}

// forgetGone says that path has no device, and restores the kernel parameters that a device which
// died there changed.
func forgetGone(out io.Writer, m host.Root, path string, absent error) error {
	if _, err := fmt.Fprintln(out, absent); err != nil {
		return err
	}
	return swapdev.Forget(out, m, swapdev.Device{Dir: path})
}
