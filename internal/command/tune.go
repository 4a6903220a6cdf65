// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/tune"
)

const flagTune = "tune"

func tuneFlag() cli.Flag {
	return &cli.StringFlag{Name: flagTune, Value: tune.Keep,
		Usage: "`WHICH` kernel parameters to use while it is up: keep (as they are) or recommended"}
}

// readTune returns the value of --tune.
func readTune(c *cli.Context) (string, error) {
	value := c.String(flagTune)
	if value != tune.Keep && value != tune.Recommended {
		return "", usageError("%s %q is neither %s nor %s", flagTune, value, tune.Keep, tune.Recommended)
	}
	return value, nil
}
