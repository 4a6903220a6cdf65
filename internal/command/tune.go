// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/tune"
)

const (
	flagTune   = "tune"
	flagSysctl = "sysctl" // what --tune was called while it knew no other parameters
)

func tuneFlag() cli.Flag {
	return &cli.StringFlag{Name: flagTune, Value: tune.Keep,
		Usage: "`WHICH` kernel parameters to use while it is up: keep (as they are) or recommended"}
}

func sysctlFlag() cli.Flag { return &cli.StringFlag{Name: flagSysctl, Value: tune.Keep, Hidden: true} }

// readTune returns the value of --tune.
func readTune(c *cli.Context) (string, error) {
	flag := flagTune
	if c.IsSet(flagSysctl) {
		if flag = flagSysctl; c.IsSet(flagTune) {
			return "", usageError("up: mutually exclusive arguments: --%s --%s, which is the old name of --%[1]s", flagTune, flagSysctl)
		}
	}
	value := c.String(flag)
	if value != tune.Keep && value != tune.Recommended {
		return "", usageError("%s %q is neither %s nor %s", flag, value, tune.Keep, tune.Recommended)
	}
	return value, nil
}
