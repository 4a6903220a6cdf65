// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/web"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name:  "report",
		Usage: "write one HTML file with the figures and the history of all devices",
		Description: "The file needs nothing else: attach it to a ticket. The history is what zramfs serve has kept, and absent if that never " +
			"ran. No page contents are in it; names of directories are.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, DefaultText: "standard output", Usage: "write `FILE`, readable by its owner only"},
			&cli.StringFlag{Name: "history", DefaultText: "/var/lib/zramfs/history", Usage: "the history is in `FILE`"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError("report: takes no arguments; -o names the file")
			}
			return web.Report(web.Config{Output: c.String("output"), History: c.String("history"), Build: ownBuild()}, c.App.Writer)
		},
	}
}
