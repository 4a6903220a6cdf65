// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/monitor"
)

func metricsCommand() *cli.Command {
	return &cli.Command{
		Name:  "metrics",
		Usage: "print metrics of all devices, as Prometheus reads them",
		Description: "Prints once what zramfs serve has at /metrics, for the textfile collector of Prometheus' node_exporter. " +
			"Without a device only the program's own metrics are printed. docs/monitoring.md lists all metrics.",
		Flags: []cli.Flag{&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print the same figures as JSON"}},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError("metrics: takes no arguments")
			}
			look, err := monitor.TakeLook()
			if err != nil {
				return err
			}
			if c.Bool(flagJSON) {
				return printJSON(c.App.Writer, map[string][]metricValue{"metrics": metricValues(monitor.Of(look, ownBuild()))})
			}
			return monitor.Write(c.App.Writer, look, ownBuild())
		},
	}
}

// A metricValue is a value of a metric, as --json prints it.
type metricValue struct {
	Name   string            `json:"name"`   // name of the metric
	Kind   monitor.Kind      `json:"kind"`   // gauge, counter or histogram
	Labels map[string]string `json:"labels"` // by name, as docs/monitoring.md has them
	Value  float64           `json:"value"`  // of a histogram the sum of its durations
	// Count is the number of durations in a histogram.
	Count uint64 `json:"count,omitempty"`
	// Buckets are pairs of an upper bound in seconds and the number of durations up to it.
	Buckets [][2]float64 `json:"buckets,omitempty"`
}

// metricValues returns the samples with the names of their labels.
func metricValues(samples []monitor.MetricSample) []metricValue {
	all := make([]metricValue, len(samples))
	for i, s := range samples {
		m, _ := monitor.Find(s.Name)
		v := metricValue{Name: s.Name, Kind: m.Kind, Labels: map[string]string{}, Value: s.Value}
		for j, label := range m.AllLabels() {
			v.Labels[label] = s.Labels[j]
		}
		if m.Kind == monitor.Histogram {
			v.Count = s.Count
			for j, n := range s.Buckets {
				v.Buckets = append(v.Buckets, [2]float64{monitor.Bounds[j], float64(n)})
			}
		}
		all[i] = v
	}
	return all
}

// ownBuild is this program, as metrics name it.
func ownBuild() monitor.Build {
	b := readBuildInfo()
	return monitor.Build{Version: b.Version, Revision: b.Revision, Go: b.Go}
}
