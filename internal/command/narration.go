// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/swapdev"
)

const (
	flagVerbose = swapdev.Verbose
	flagQuiet   = swapdev.Quiet
)

// narrationFlags set how much up, mount and down print.
func narrationFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: flagVerbose, Aliases: []string{"v"}, Usage: "print each step"},
		&cli.BoolFlag{Name: flagQuiet, Aliases: []string{"q"}, Usage: "print nothing but errors"},
		&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON, sizes in bytes"},
	}
}

// newNarration reads the flags of narrationFlags. Steps are written to out.
func newNarration(c *cli.Context, out io.Writer) (*swapdev.Narration, error) {
	n := &swapdev.Narration{Out: out, Warnings: thousandsWarnings(c)}
	for _, flag := range []string{flagVerbose, flagQuiet, flagJSON} {
		if !c.Bool(flag) {
			continue
		}
		if n.How != "" {
			return nil, usageError("%s: mutually exclusive arguments: --%s --%s", c.Command.Name, n.How, flag)
		}
		n.How = flag
	}
	return n, nil
}
