// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/settings"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

const setName = "set"

func setCommand() *cli.Command {
	return &cli.Command{
		Name:      setName,
		Usage:     "change the algorithm or the memory limit of a device in use",
		ArgsUsage: "[DIR] [KEY=VALUE...]",
		Description: "Without KEY=VALUE it lists what can be set, with the present values of the device at DIR (default " + defaultDir +
			"). What is set survives the death of a process and an upgrade; it ends with the device. Pages that are stored stay as they are.",
		Action: setAction,
	}
}

func setAction(c *cli.Context) error {
	dir, changes, err := settingArguments(c.Args().Slice())
	if err != nil {
		return err
	}
	d, err := findHere(c, dir)
	if err != nil {
		return err
	}
	if d.Status == nil {
		return fmt.Errorf("set: %w", d.Err)
	}
	if len(changes) == 0 {
		return listSettings(c, d)
	}
	for _, change := range changes {
		if err := change.Check(d); err != nil {
			return usageError("set: %w", err)
		}
	}
	for _, change := range changes {
		if err := change.Apply(d); err != nil {
			return err
		}
		if remark := change.Remark(d); remark != "" {
			if _, err := fmt.Fprintf(c.App.Writer, "%s: %s\n", d.Word(), term.Printable(remark)); err != nil {
				return err
			}
		}
	}
	return nil
}

// asSetting is a hint for a flag of set that is a key.
func asSetting(flag string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	if !settings.IsKey(name) {
		return ""
	}
	return fmt.Sprintf("; a setting has no dashes: zramfs set %s=VALUE", name)
}

// settingArguments reads [DIR] and the changes: a DIR has no equals sign, or a slash before it.
func settingArguments(args []string) (dir string, changes []settings.Change, err error) {
	dir = defaultDir
	if len(args) > 0 {
		if name, _, isChange := strings.Cut(args[0], "="); !isChange || strings.Contains(name, "/") {
			dir, args = args[0], args[1:]
		}
	}
	if dir == "" {
		return "", nil, usageError("set: DIR is empty; leave it out for %s", defaultDir)
	}
	if settings.IsKey(dir) {
		return "", nil, usageError("set: %q has no value; did you mean %[1]s=VALUE?", dir)
	}
	ram, err := host.Local.MemTotal()
	if err != nil {
		ram = 0 // a limit in per cent is then refused with that reason
	}
	for _, arg := range args {
		change, err := settings.Parse(arg, ram)
		if errors.Is(err, settings.ErrUsage) {
			return "", nil, usageError("set: %w", err)
		}
		changes = append(changes, change)
	}
	return dir, changes, nil
}

// listSettings lists all that can be set, one that cannot be read with a question mark.
func listSettings(c *cli.Context, d swapdev.Device) error {
	var failed error
	for _, k := range settings.Keys() {
		now, err := k.Now(d)
		if err != nil {
			failed, now = err, "?"
		}
		if _, err := fmt.Fprintf(c.App.Writer, "%-10s %-24s %s: %s\n", k.Name, term.Printable(now), k.Effect, k.Values); err != nil {
			return err
		}
	}
	return failed
}
