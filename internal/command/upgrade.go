// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

const flagBinary = "binary"

func upgradeCommand() *cli.Command {
	return &cli.Command{
		Name:      "upgrade",
		Usage:     "change to another version of the server",
		ArgsUsage: "[DIR]",
		Description: "A process of the given server takes over the device at DIR (default " + defaultDir + ") with its contents, while it is in " +
			"use: requests wait for some milliseconds. A server that cannot read the old one's image is refused, and the " +
			"old one goes on. It also starts a worker for a device that has none. --all hands over every device, as packages do when they have been upgraded; " +
			"one that fails leaves the others to do.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: flagBinary, Usage: "`PATH` of the new zramfsd, or of the zramfs beside it (default: the installed one)"},
			sectionFlag(),
			everyFlag("hand over every device"),
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"},
		},
		Action: upgradeAction,
	}
}

func upgradeAction(c *cli.Context) error {
	binary, err := newServer(c.String(flagBinary))
	if err != nil {
		return err
	}
	if c.Bool(flagAll) {
		return everyDevice(c, "upgrade", func(d swapdev.Device) error {
			if err := d.Here(); err != nil {
				return fmt.Errorf("upgrade %w", err)
			}
			return upgradeDevice(c, d, binary)
		})
	}
	d, err := namedDevice(c, "upgrade")
	if err != nil {
		return err
	}
	return upgradeDevice(c, d, binary)
}

// upgradeDevice hands d over to the program binary.
func upgradeDevice(c *cli.Context, d swapdev.Device, binary string) error {
	if s := swapdev.SilenceOf(d); s.Keeper.Stopped() {
		return fmt.Errorf("upgrade %w", s)
	}
	r, err := control.Upgrade(d.Dir, binary)
	if err != nil {
		return fmt.Errorf("upgrade %s: %w", d.Word(), explainKeeper(d, err))
	}
	if c.Bool(flagJSON) {
		return printJSON(c.App.Writer, map[string]upgradeReport{"upgrade": {Dir: d.Dir, WorkerPID: r.WorkerPID, OldPID: r.OldPID,
			WithoutService: r.WithoutService.Seconds()}})
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: process %d serves in place of %d; requests waited for %s\n",
		d.Word(), r.WorkerPID, r.OldPID, r.WithoutService.Round(100*time.Microsecond))
	return err
}

// upgradeReport is the result of upgrade; its JSON is what --json prints.
type upgradeReport struct {
	Dir            string  `json:"dir"`                     // the device
	WorkerPID      int     `json:"worker_pid"`              // the process that serves now
	OldPID         int     `json:"old_pid"`                 // of the worker before
	WithoutService float64 `json:"without_service_seconds"` // the time that requests waited
}

// newServer returns the absolute path of the new server: the given one, the one next to a given
// zramfs, or the one that this program starts.
func newServer(path string) (string, error) {
	if path == "" {
		return zramfsd.Find()
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("new server %s: %w", path, err)
	}
	if filepath.Base(abs) == programName {
		abs = filepath.Join(filepath.Dir(abs), zramfsd.Name)
	}
	return abs, nil
}
