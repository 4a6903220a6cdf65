// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/tune"
	"github.com/zramfs/zramfs/internal/zswap"
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

const flagZswap = "zswap"

func zswapFlag() cli.Flag {
	return &cli.StringFlag{Name: flagZswap, Value: zswap.Auto,
		Usage: "`SHARE` of RAM for zswap in front of the device: auto, on, off, or as 30%"}
}

// readZswap returns the value of --zswap. On a machine whose zswap will not do, on is an error.
func readZswap(c *cli.Context, m host.Root) (zswap.Policy, error) {
	p, err := zswap.Parse(c.String(flagZswap))
	if err != nil {
		return p, usageError("%w", err)
	}
	if p.Mode == zswap.On {
		err = zswap.Unfit(m)
	}
	return p, err
}
