// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"math"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/bench"
)

const (
	flagSeconds   = "seconds"
	flagGenerated = "generated"

	benchCodec     = "codec"
	defaultSeconds = 10
	maxSeconds     = 3600
)

func benchCommand() *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "measure the codecs on this machine",
		ArgsUsage: benchCodec,
		Description: "Compresses and decompresses pages by every algorithm, in every implementation that this machine can run, on one " +
			"thread, taking turns in short rounds, and prints a line for each. memcpy, a plain copy, serves to compare machines. " +
			"(selected) marks the algorithm that up uses by default, and the implementation that an algorithm " +
			"uses here; ZRAMFS_DISABLE=avx512,avx2 switches instruction sets off. Speeds are in MB/s of 10^6 bytes of pages, the times of " +
			"one page in microseconds: the median and the 99th percentile.\n\n" +
			"Pages of one repeated word are left out, since the store recognises them without a codec. RATIO is over the others, without the " +
			"overhead of the store.\n\n" +
			"Any file will do: each 4096 bytes of it are a page, the last padded with zeros. Of a large file or " +
			"process every n-th page is used, 64M in all. Generated pages are the same everywhere, and their ratios say nothing about a machine.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: flagFile, Aliases: []string{"f"}, Usage: "use the pages of a `FILE`"},
			&cli.IntSliceFlag{Name: flagPID, Aliases: []string{"p"},
				Usage: "use the resident anonymous pages of process `PID`, or of several, with commas"},
			&cli.BoolFlag{Name: flagGenerated, Usage: "use generated pages (default)"},
			&cli.StringFlag{Name: flagAlgorithm, Aliases: []string{"a"},
				Usage: "measure a `LIST` of algorithms, as lz4,lz4:simd=generic,zstd(level=3)"},
			&cli.Float64Flag{Name: flagSeconds, Aliases: []string{"t"}, Value: defaultSeconds,
				Usage: "measure for `SECONDS` in all, and each variant at least once"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"},
		},
		Action: benchAction,
	}
}

func benchAction(c *cli.Context) error {
	if c.NArg() != 1 || c.Args().First() != benchCodec {
		return usageError("bench: write zramfs bench %s", benchCodec)
	}
	from, err := readPageSource(c, "bench", flagFile, flagPID, flagGenerated)
	if err != nil {
		return err
	}
	seconds := c.Float64(flagSeconds)
	if math.IsNaN(seconds) || seconds <= 0 || seconds > maxSeconds {
		return usageError("bench: %v seconds: it is more than 0, and at most %d", seconds, maxSeconds)
	}
	from.Limit = bench.SamplePages
	o := bench.Options{Length: time.Duration(seconds * float64(time.Second)), Progress: c.App.ErrWriter, Algorithms: codec.Comparable()}
	if list := c.String(flagAlgorithm); list != "" {
		if o.Algorithms, err = parseAlgorithms(list); err != nil {
			return err
		}
	}
	s, err := from.Take(c.Context, c.App.ErrWriter)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	r, err := bench.Codec(s, o)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return printReport(c.App.Writer, c.Bool(flagJSON), r)
}
