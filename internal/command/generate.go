// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/alerts"
)

func generateCommand() *cli.Command {
	return &cli.Command{
		Name:      "generate",
		Usage:     "print alert rules for Prometheus or a dashboard for Grafana",
		ArgsUsage: "alerts|grafana",
		Description: "alerts prints rules for a device that is down, dead or degraded, nearly full, slow, or restarted again and again; " +
			"grafana a dashboard to import. Both use the metrics of zramfs metrics and zramfs serve.",
		Action: func(c *cli.Context) error {
			text, err := generated(c.Args().Slice())
			if err != nil {
				return err
			}
			if _, err := io.WriteString(c.App.Writer, text); err != nil {
				return fmt.Errorf("write standard output: %w", err)
			}
			return nil
		},
	}
}

// generated returns what the arguments ask for.
func generated(args []string) (string, error) {
	if len(args) == 1 {
		switch args[0] {
		case "alerts":
			return alerts.Rules(), nil
		case "grafana":
			return alerts.Grafana()
		}
	}
	return "", usageError("generate: want alerts or grafana")
}
