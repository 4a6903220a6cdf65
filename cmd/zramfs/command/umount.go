// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/setup"
)

func umountCommand() *cli.Command {
	return &cli.Command{
		Name:      "umount",
		Aliases:   []string{"unmount"},
		Usage:     "end a device that is not in use",
		ArgsUsage: "DIR",
		Description: "Everything stored in the device is gone after that. While a loop device or a process uses it, nothing is " +
			"changed; zramfs down turns swap off first.",
		Action: umountAction,
	}
}

func umountAction(c *cli.Context) error {
	if c.NArg() != 1 || c.Args().First() == "" {
		return usageError("umount: name one DIR")
	}
	d, err := devices.FindOne(c.Args().First())
	if err != nil {
		return err
	}
	if d.Away {
		p := devices.DiagnoseAway(d)
		return fmt.Errorf("%s: %s; %s", d.Title(), p.What, p.Fix)
	}
	if err := setup.MayUnmount(d); err != nil {
		return err
	}
	if err := setup.UnmountAndWait(d); err != nil {
		return err
	}
	return setup.Forget(c.App.Writer, host.Local, d)
}
