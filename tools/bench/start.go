// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/zramfs/zramfs/internal/term"
)

// startFigure says how long swap takes to be on, in milliseconds: from the start of the command to
// its end, or for kernel zram from hot_add to the end of swapon.
type startFigure struct {
	Name string  `json:"name"`
	What string  `json:"what"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
	Max  float64 `json:"max_ms"`
	Took []int64 `json:"took_us"` // one a round
}

// runStart turns swap on and off, in every round once on each subject in turns.
func runStart(ctx context.Context, opts options, out, progress io.Writer) error {
	all := subjects(opts)
	figures := make([]startFigure, len(all))
	for round := range opts.rounds {
		if round%20 == 0 {
			fmt.Fprintf(progress, "round %d of %d\n", round+1, opts.rounds)
		}
		for _, i := range turns(len(all), round) {
			device, err := startOnce(opts, all[i])
			if err := errors.Join(err, ctx.Err()); err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, all[i].name, err)
			}
			figures[i].Name, figures[i].What = all[i].name, device.what
			figures[i].Took = append(figures[i].Took, device.took.Microseconds())
		}
	}
	for i := range figures {
		figures[i].summarize()
	}
	if opts.json {
		return json.NewEncoder(out).Encode(figures)
	}
	return writeStart(out, opts, figures)
}

// startOnce turns swap on a new device on, and takes all of it away again.
func startOnce(opts options, one subject) (_ *device, err error) {
	var made cleanup
	defer func() { err = errors.Join(err, made.undo()) }()
	if err := refuseOtherSwap(); err != nil {
		return nil, err
	}
	group, err := makeGroup("zramfs-bench-"+strconv.Itoa(os.Getpid()), minLimit, &made) // where the guard looks for a load
	if err != nil {
		return nil, err
	}
	settings, err := keepSettings(&made)
	if err != nil {
		return nil, err
	}
	guard, err := startGuard(group, opts.window, settings)
	if err != nil {
		return nil, err
	}
	made.add(guard.dismiss)
	device, err := one.up(&made)
	if err != nil {
		return nil, err
	}
	return device, guard.watch(device.path)
}

// summarize works out the figures over the rounds.
func (f *startFigure) summarize() {
	sorted := slices.Sorted(slices.Values(f.Took))
	at := func(share float64) float64 { return float64(sorted[int(share*float64(len(sorted)-1)+0.5)]) / 1000 }
	f.P50, f.P99, f.Max = at(0.5), at(0.99), at(1)
}

func writeStart(out io.Writer, opts options, figures []startFigure) error {
	fmt.Fprintf(out, "From the command to swap that is on, %s, %d rounds, ms:\n\n", term.Size(uint64(opts.size)), opts.rounds)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tp50\tp99\tlongest\t")
	for _, f := range figures {
		fmt.Fprintf(table, "%s\t%.1f\t%.1f\t%.1f\t\n", f.Name, f.P50, f.P99, f.Max)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, f := range figures {
		if _, err := fmt.Fprintf(out, "%s: %s\n", f.Name, f.What); err != nil {
			return err
		}
	}
	return nil
}
