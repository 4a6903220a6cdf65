// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/zramview"
)

const execName = "exec"

func execCommand() *cli.Command {
	return &cli.Command{
		Name:      execName,
		Usage:     "run a command that finds the device where the kernel's zram would be",
		ArgsUsage: "[DIR] -- COMMAND [ARG...]",
		Description: "In a mount namespace of its own COMMAND has the device at DIR as /dev/zram0, its attributes in /sys/block/zram0, and " +
			"/sys/class/zram-control: zramctl, and scripts for zram, work unchanged. Without DIR it is " + defaultDir + ", or the only device " +
			"there is. /dev/zram0 is the device's loop device, the one that list names; a device without one gets one for the time of COMMAND. " +
			"The kernel's own zram devices are out of sight, and modprobe takes zram for loaded.\n\n" +
			"Signals are passed on. Swap that COMMAND has turned on stays on, by the name of the loop device. It needs root.",
		Action: execAction,
	}
}

func execAction(c *cli.Context) error {
	dirs, command, err := splitExec(c.Args().Slice())
	if err != nil {
		return err
	}
	d, err := execDevice(c, dirs)
	if err != nil {
		return err
	}
	code, err := zramview.Run(d, command, c.App.ErrWriter)
	if err != nil {
		return fmt.Errorf("exec: %w", err)
	}
	return exitWith(code)
}

// splitExec divides the arguments at --, which arrange keeps.
func splitExec(args []string) (dirs, command []string, err error) {
	for i, arg := range args {
		if arg == "--" {
			dirs, command = args[:i], args[i+1:]
			break
		}
	}
	switch {
	case len(command) == 0:
		return nil, nil, usageError("exec: name the command after --: zramfs exec -- zramctl")
	case len(dirs) > 1:
		return nil, nil, usageError("exec: one DIR at most")
	case len(dirs) == 1 && dirs[0] == "":
		return nil, nil, usageError("exec: DIR is empty; leave it out for %s", defaultDir)
	}
	return dirs, command, nil
}

// execDevice returns the named device, else the one at the default DIR, else the only one.
func execDevice(c *cli.Context, dirs []string) (swapdev.Device, error) {
	if len(dirs) == 1 {
		return findHere(c, dirs[0])
	}
	found, err := swapdev.Find()
	if err != nil {
		return swapdev.Device{}, err
	}
	name, err := usualDevice(found)
	if err != nil {
		return swapdev.Device{}, err
	}
	return swapdev.FindHere(name)
}

// usualDevice returns the name of the device that is meant without one.
func usualDevice(found []swapdev.Device) (string, error) {
	var names []string
	for _, d := range found {
		if d.Dir == defaultDir {
			return defaultDir, nil
		}
		names = append(names, d.Title())
	}
	switch len(names) {
	case 0:
		return "", fmt.Errorf("%w: make one by zramfs mount or up", swapdev.ErrNotRunning)
	case 1:
		return names[0], nil
	}
	return "", usageError("exec: there are several devices, name one: %s", strings.Join(names, ", "))
}
