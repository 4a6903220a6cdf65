// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/figures"
	"github.com/zramfs/zramfs/cmd/zramfs/monitor"
)

func metricsCommand() *cli.Command {
	return &cli.Command{
		Name:  "metrics",
		Usage: "print metrics of all devices, as Prometheus reads them",
		Description: "Prints once what zramfs serve has at /metrics, for the textfile collector of Prometheus' node_exporter. " +
			"Without a device only the program's own metrics are printed. docs/monitoring.md lists all metrics.",
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError("metrics: takes no arguments")
			}
			return monitor.Order{Task: monitor.Metrics, Build: ownBuild()}.Start()
		},
	}
}

// ownBuild is this program, as metrics name it.
func ownBuild() figures.Build {
	b := readBuildInfo()
	return figures.Build{Version: b.Version, Revision: b.Revision, Go: b.Go}
}
