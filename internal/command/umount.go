// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/swapdev"
)

func umountCommand() *cli.Command {
	return &cli.Command{
		Name:      "umount",
		Aliases:   []string{"unmount"},
		Usage:     "end a device that is not in use",
		ArgsUsage: "DIR",
		Description: "Everything stored in the device is gone after that, and with it the extra devices of DIR. While a loop device or " +
			"a process uses one of them, nothing is changed; zramfs down turns swap off first.",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"}},
		Action: umountAction,
	}
}

func umountAction(c *cli.Context) error {
	if c.NArg() != 1 || c.Args().First() == "" {
		return usageError("umount: name one DIR")
	}
	dir, _, err := dirNamed(c, c.Args().First())
	if err != nil {
		return err
	}
	d, err := swapdev.FindOne(dir)
	if err != nil {
		return err
	}
	if d.Elsewhere {
		p := swapdev.DiagnoseAway(d)
		return fmt.Errorf("%s: %s; %s", d.Word(), p.What, p.Fix)
	}
	if err := swapdev.MayUnmount(d); err != nil {
		return err
	}
	if err := swapdev.UnmountAndWait(d); err != nil {
		return err
	}
	if !c.Bool(flagJSON) {
		return swapdev.Forget(c.App.Writer, host.Local, d)
	}
	said := &swapdev.Narration{Out: c.App.Writer, How: swapdev.JSON}
	if err := swapdev.Forget(said, host.Local, d); err != nil {
		return err
	}
	return printJSON(c.App.Writer, map[string]umountSummary{"umount": {Dir: d.Dir, Warnings: append([]string{}, said.Warnings...)}})
}

// An umountSummary is the result of umount; its JSON is what --json prints.
type umountSummary struct {
	Dir      string   `json:"dir"`      // where it was mounted
	Warnings []string `json:"warnings"` // what was not restored
}
