// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/swapdev"
)

// everyFlag is --all of a command that takes a DIR; does says what happens to each device.
func everyFlag(does string) *cli.BoolFlag {
	return &cli.BoolFlag{Name: flagAll, Usage: does}
}

// everyDevice calls do for each device, one after the other. One that fails leaves the others to
// do, and its error is among the result's. Where there is none, that is no error and no line: the
// scripts of packages call it.
func everyDevice(c *cli.Context, name string, do func(swapdev.Device) error) error {
	switch {
	case c.NArg() > 0 || c.IsSet(flagSection):
		return usageError("%s: --%s and a DIR exclude each other", name, flagAll)
	case c.Bool(flagJSON):
		return usageError("%s: --%s and --%s exclude each other: zramfs status -J shows all devices", name, flagAll, flagJSON)
	}
	all, err := swapdev.Find()
	if err != nil {
		return err
	}
	return oneByOne(all, swapdev.Find, do)
}

// oneByOne calls do for each of all, and looks for each again before: while the others were ended,
// which takes minutes, it may have ended too, and its DIR may have another device, with data.
func oneByOne(all []swapdev.Device, find func(...string) ([]swapdev.Device, error), do func(swapdev.Device) error) error {
	var failed []error
	seen := map[string]bool{}
	for _, d := range all {
		if seen[d.Title()] { // with another one on its DIR
			continue
		}
		seen[d.Title()] = true
		now, err := find(d.Title())
		if err != nil && !errors.Is(err, swapdev.ErrNotRunning) {
			failed = append(failed, err)
		}
		for _, d := range now {
			failed = append(failed, do(d))
		}
	}
	return errors.Join(failed...)
}
