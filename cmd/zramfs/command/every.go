// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/devices"
)

// everyFlag is --all of a command that takes a DIR; does says what happens to each device.
func everyFlag(does string) *cli.BoolFlag {
	return &cli.BoolFlag{Name: flagAll, Usage: does}
}

// everyDevice calls do for each device, one after the other. One that fails leaves the others to
// do, and its error is among the result's. Where there is none, that is no error and no line: the
// scripts of packages call it.
func everyDevice(c *cli.Context, name string, do func(devices.Device) error) error {
	switch {
	case c.NArg() > 0 || c.IsSet(flagSection):
		return usageError("%s: --%s and a DIR exclude each other", name, flagAll)
	case c.Bool(flagJSON):
		return usageError("%s: --%s and --%s exclude each other: zramfs status -J shows all devices", name, flagAll, flagJSON)
	}
	all, err := devices.Find()
	if err != nil {
		return err
	}
	var failed []error
	for _, d := range all {
		failed = append(failed, do(d))
	}
	return errors.Join(failed...)
}
