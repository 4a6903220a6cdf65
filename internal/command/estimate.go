// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/estimate"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/term"
)

// The flags that estimate and bench share, and their bounds.
const (
	flagPID    = "pid"
	flagAll    = "all"
	flagFile   = "file"
	flagSample = "sample"
	flagJSON   = "json"

	defaultSample = "64M"
	minSample     = 64 << 10
	maxSample     = 4 << 30
)

func estimateCommand() *cli.Command {
	return &cli.Command{
		Name:  "estimate",
		Usage: "estimate what compressed swap would save",
		Description: "Takes a sample of the memory that could be swapped, compresses it by each algorithm, and advises a size and a " +
			"limit for zramfs up.\n\n" +
			"It samples resident anonymous memory that belongs to one process: no files, no shared memory or tmpfs, nothing locked, " +
			"and nothing that lies in swap, so that nothing is swapped in. Every n-th page is taken, over all the processes. It " +
			"needs the right to trace them: root, for other users' processes.\n\n" +
			"RATIO is what COMP-RATIO of list would show: pages for each byte of memory that holds them, index included, pages of one " +
			"repeated word counted as well. The interval is where the ratio of all the memory lies, at 95 % confidence.",
		Flags: []cli.Flag{
			&cli.IntSliceFlag{Name: flagPID, Aliases: []string{"p"}, Usage: "processes to sample: `PID`, several with commas or by repeating it"},
			&cli.BoolFlag{Name: flagAll, Usage: "sample all processes"},
			&cli.StringFlag{Name: flagFile, Aliases: []string{"f"},
				Usage: "sample a `FILE`, as if each 4096 bytes were a page of memory; the last is filled up with zeros"},
			&cli.StringFlag{Name: flagAlgorithm, Aliases: []string{"a"},
				Usage: "algorithms to compare: a `LIST` with commas, the advice for the first (default: all)"},
			&cli.StringFlag{Name: flagSample, Value: defaultSample, Usage: "`SIZE` of the sample, from 64K to 4G"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON, sizes in bytes"},
		},
		Action: estimateAction,
	}
}

func estimateAction(c *cli.Context) error {
	if c.Args().Present() {
		return usageError("estimate: takes no argument %q; several processes are --pid 1,2", c.Args().First())
	}
	from, err := readPageSource(c, "estimate", flagPID, flagAll, flagFile)
	if err != nil {
		return err
	}
	algorithms, err := estimated(c.String(flagAlgorithm))
	if err != nil {
		return err
	}
	ram, err := host.Local.MemTotal()
	if err != nil {
		return err
	}
	if from.Limit, err = sampleLimit(c.String(flagSample), ram); err != nil {
		return err
	}
	sample, err := from.Take(c.Context, c.App.ErrWriter)
	if err != nil {
		return fmt.Errorf("estimate: %w", err)
	}
	e, err := estimate.New(sample, algorithms, ram, term.NewSteps(c.App.ErrWriter, "compressing", int64(sample.Count()*len(algorithms))))
	if err != nil {
		return fmt.Errorf("estimate: %w", err)
	}
	return printReport(c.App.Writer, c.Bool(flagJSON), e)
}

// estimated returns the algorithms in a list, or by default all but raw, which saves nothing.
func estimated(list string) ([]codec.Algorithm, error) {
	if list != "" {
		return parseAlgorithms(list)
	}
	var all []codec.Algorithm
	for _, a := range codec.Comparable() {
		if a.String() != rawName {
			all = append(all, a)
		}
	}
	return all, nil
}

// rawName is the algorithm that does not compress.
const rawName = "raw"

// sampleLimit reads the size of a sample and returns its pages.
func sampleLimit(text string, ram uint64) (int, error) {
	n, err := term.ParseBytes(text, ram)
	if err != nil {
		return 0, usageError("sample %q: %w", text, err)
	}
	if n < minSample || n > maxSample {
		return 0, usageError("sample %q: must be from %s to %s", text, term.Size(minSample), term.Size(maxSample))
	}
	return int(n / pageSize), nil
}
