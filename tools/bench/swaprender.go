// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
)

// writeText prints what the run was, a line for each measure with each device at its best
// vm.page-cluster and its ratio to kernel zram, how that stands to the targets, and all medians.
func (r *swapReport) writeText(out io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "Linux %s, %d CPUs; %d MiB of real pages (%d different, LZ4 ratio %.2f) in a limit of %d MiB; %d touches, %s; median of %d rounds\n",
		r.Kernel, r.CPUs, r.Filled>>20, r.Pages.Count, r.Pages.LZ4, r.Limit>>20, r.Touches, r.Work, r.Rounds)
	if r.LoadCPU != nil {
		fmt.Fprintf(&text, "the load runs on CPU %d only\n", *r.LoadCPU)
	}
	for _, device := range r.Devices {
		fmt.Fprintf(&text, "%s: %s, %d MiB\n", device.Name, device.What, r.Size>>20)
	}
	r.WakeUps.render(&text)
	r.renderBest(&text)
	renderTargets(&text, r.Targets)
	if len(r.Cluster) > 1 {
		r.renderAll(&text)
	}
	_, err := out.Write(text.Bytes())
	return err
}

// renderBest prints each device at its best vm.page-cluster, which stands behind @.
func (r *swapReport) renderBest(text *bytes.Buffer) {
	fmt.Fprintf(text, "\neach device at its best vm.page-cluster (@), by speed of the fill, speed of the walk, mean of all touches\n")
	fmt.Fprintf(text, "%*s", nameWidth+unitWidth, "")
	for i, device := range r.Devices {
		fmt.Fprintf(text, "%*s", clusterWidth, device.Name)
		if i < len(r.Measure[0].Ratio) {
			fmt.Fprintf(text, "%*s", ratioWidth, "to zram")
		}
	}
	text.WriteByte('\n')
	for _, row := range r.Measure {
		fmt.Fprintf(text, "%-*s%-*s", nameWidth, row.Name, unitWidth, row.Unit)
		for i, medians := range row.Median {
			best := row.Best[i]
			fmt.Fprintf(text, " %*s", clusterWidth-1, fmt.Sprintf("%s%s @%d", digits(medians[best]), row.Interval[i][best], r.Cluster[best]))
			if i < len(row.Ratio) {
				fmt.Fprintf(text, "%*s", ratioWidth, times(row.Ratio[i]))
			}
		}
		text.WriteByte('\n')
	}
}

// clusterWidth is the width of a column with a figure, its interval and a page cluster.
const clusterWidth = cellWidth + 3

// renderAll prints the medians with every vm.page-cluster.
func (r *swapReport) renderAll(text *bytes.Buffer) {
	fmt.Fprintf(text, "\n%-*s", nameWidth+unitWidth, "with each vm.page-cluster (@)")
	for _, device := range r.Devices {
		for _, cluster := range r.Cluster {
			fmt.Fprintf(text, "%*s", clusterWidth, fmt.Sprintf("%s @%d", device.Name, cluster))
		}
	}
	text.WriteByte('\n')
	for _, row := range r.Measure {
		fmt.Fprintf(text, "%-*s%-*s", nameWidth, row.Name, unitWidth, row.Unit)
		for _, medians := range row.Median {
			for _, median := range medians {
				fmt.Fprintf(text, "%*s", clusterWidth, digits(median))
			}
		}
		text.WriteByte('\n')
	}
}
