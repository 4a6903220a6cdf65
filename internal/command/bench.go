// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/bench"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/sample"
)

const (
	flagSeconds   = "seconds"
	flagGenerated = "generated"
	flagBatch     = "batch"

	benchCodec     = "codec"
	benchBulk      = "bulk"
	defaultSeconds = 10
	maxSeconds     = 3600
)

func benchCommand() *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "measure the codecs, or bulk work, on this machine",
		ArgsUsage: benchCodec + " | " + benchBulk,
		Description: "codec: Compresses and decompresses pages by every algorithm, in every implementation that this machine can run, on one " +
			"thread, taking turns in short rounds, and prints a line for each. memcpy, a plain copy, serves to compare machines. " +
			"(selected) marks the algorithm that up uses by default, and the implementation that an algorithm " +
			"uses here; ZRAMFS_DISABLE=avx512,avx2 switches instruction sets off. Speeds are in MB/s of 10^6 bytes of pages, the times of " +
			"one page in microseconds: the median and the 99th percentile.\n\n" +
			"bulk: Compresses, decompresses and verifies batches of pages, as export, import and verify do: by one worker, by one on each core and, " +
			"where the program and the machine have other engines, by those alone and by all together. SHARE is the part of the pages " +
			"that the other engines did. A batch has --batch pages, which repeat those of a smaller sample: " +
			"64 MiB by default, 10 GB with other engines, and at most a quarter of the free memory.\n\n" +
			"Pages of one repeated word are left out, since the store recognises them without a codec. RATIO is over the others, without the " +
			"overhead of the store.\n\n" +
			"Any file will do: each 4096 bytes of it are a page, the last padded with zeros. Of a large file or " +
			"process every n-th page is used, 64M in all. Generated pages are the same everywhere, and their ratios say nothing about a machine.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: flagFile, Aliases: []string{"f"}, Usage: "use the pages of a `FILE`"},
			&cli.IntSliceFlag{Name: flagPID, Aliases: []string{"p"},
				Usage: "use the resident anonymous pages of process `PID`, or of several, with commas"},
			&cli.BoolFlag{Name: flagGenerated, Usage: "use generated pages (default)"},
			&cli.StringFlag{Name: flagAlgorithm, Aliases: []string{"a"},
				Usage: "measure a `LIST` of algorithms, as lz4,lz4:simd=generic,zstd(level=3) (default: all, bulk: some)"},
			&cli.IntFlag{Name: flagBatch, Aliases: []string{"b"}, Usage: "`PAGES` of a batch, for bulk", DefaultText: "as below"},
			&cli.Float64Flag{Name: flagSeconds, Aliases: []string{"t"}, Value: defaultSeconds,
				Usage: "measure for `SECONDS` in all, and each variant at least once"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"},
		}, engineFlags()...),
		Action: benchAction,
	}
}

func benchAction(c *cli.Context) error {
	what := c.Args().First()
	if c.NArg() != 1 || what != benchCodec && what != benchBulk {
		return usageError("bench: say what to measure: zramfs bench %s or zramfs bench %s", benchCodec, benchBulk)
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
	o := bench.Options{Length: time.Duration(seconds * float64(time.Second)), Progress: c.App.ErrWriter}
	if what == benchBulk {
		return benchBulkAction(c, from, o)
	}
	for _, flag := range []string{flagBatch, flagGPU, flagGPUDevice, flagGPUBatch, flagGPUSlots} {
		if c.IsSet(flag) {
			return usageError("bench: --%s is for zramfs bench %s", flag, benchBulk)
		}
	}
	return benchCodecAction(c, from, o)
}

// benchCodecAction measures the codecs, page by page.
func benchCodecAction(c *cli.Context, from sample.Source, o bench.Options) (err error) {
	o.Algorithms = codec.Comparable()
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

// benchBulkAction measures bulk work, by default of the algorithms that a device offers.
func benchBulkAction(c *cli.Context, from sample.Source, o bench.Options) error {
	batch := c.Int(flagBatch)
	if c.IsSet(flagBatch) && batch < 1 || batch > bench.MaxBatch {
		return usageError("bench: --%s %d: must be from 1 to %d", flagBatch, batch, bench.MaxBatch)
	}
	engines, err := engineOptionsOf(c, imageio.AnyTask)
	if err != nil {
		return err
	}
	list := cmp.Or(c.String(flagAlgorithm), strings.Join(codec.Algorithms(), ","))
	if o.Algorithms, err = parseAlgorithms(list); err != nil {
		return err
	}
	s, err := from.Take(c.Context, c.App.ErrWriter)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	r, err := bench.Bulk(c.Context, s, o, batch, engines)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return printReport(c.App.Writer, c.Bool(flagJSON), r)
}
