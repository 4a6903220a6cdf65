// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"math"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/sample"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
)

const (
	flagSeconds   = "seconds"
	flagGenerated = "generated"
	flagBatch     = "batch"

	benchCodec     = "codec"
	benchBulk      = "bulk"
	defaultSeconds = 10
	maxSeconds     = 3600
	benchPages     = 16384 // 64 MiB, more than any cache of one core: of a sample, and of a batch for the CPU
)

func benchCommand() *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "measure the codecs, or bulk work, on this machine",
		ArgsUsage: benchCodec + " | " + benchBulk,
		Description: "codec: Compresses and decompresses pages by every algorithm, in every implementation that this machine can run, one " +
			"thread, in short rounds by turns, and prints a line for each. memcpy, a plain copy, is there to compare machines by. " +
			"(selected) stands at the algorithm that up takes unless told otherwise, and at the implementation that an algorithm " +
			"takes here; ZRAMFS_DISABLE=avx512,avx2 switches instruction sets off. Speeds are in MB/s of 10^6 bytes of pages, the times of " +
			"one page in microseconds: the median, and what one page in a hundred takes longer than.\n\n" +
			"bulk: Compresses, decompresses and verifies batches of pages, as export, import and verify do: by one worker, by one on each core and, " +
			"where the program has other engines and the machine what they need, by those alone and by all together. SHARE is the part of the pages " +
			"that the other engines did of that, as learned meanwhile. Batches are of --batch pages, which are " +
			"repeated where there are fewer: 64 MiB of them by default, 10 GB where there are other engines, and at most " +
			"a quarter of the free memory.\n\n" +
			"Pages of one repeated word are left out: the store knows them without a codec. RATIO is over the others, without what the " +
			"store adds.\n\n" +
			"A file may be any file: each 4096 bytes of it are a page, the last filled up with zeros. Of a large file or " +
			"process 64M are used, every n-th page. Generated pages are the same everywhere, and their ratios say nothing about a machine.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: flagFile, Aliases: []string{"f"}, Usage: "use the pages of a `FILE`"},
			&cli.IntSliceFlag{Name: flagPID, Aliases: []string{"p"},
				Usage: "use the resident anonymous pages of process `PID`, or of several, with commas"},
			&cli.BoolFlag{Name: flagGenerated, Usage: "use generated pages (default)"},
			&cli.StringFlag{Name: flagAlgorithm, Aliases: []string{"a"},
				Usage: "measure a `LIST` of algorithms, as lz4,lz4:simd=generic,zstd(level=3) (default: all, bulk: some)"},
			&cli.IntFlag{Name: flagBatch, Aliases: []string{"b"}, Usage: "how many `PAGES` a batch has, for bulk", DefaultText: "as below"},
			&cli.Float64Flag{Name: flagSeconds, Aliases: []string{"t"}, Value: defaultSeconds,
				Usage: "how many `SECONDS` to measure, all together; each is measured once at least"},
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
	from.Limit = benchPages
	length := time.Duration(seconds * float64(time.Second))
	if what == benchBulk {
		return benchBulkAction(c, from, length)
	}
	for _, flag := range []string{flagBatch, flagGPU, flagGPUDevice, flagGPUBatch, flagGPUSlots} {
		if c.IsSet(flag) {
			return usageError("bench: --%s is for zramfs bench %s", flag, benchBulk)
		}
	}
	return benchCodecAction(c, from, length)
}

// benchCodecAction measures the codecs, page by page.
func benchCodecAction(c *cli.Context, from sample.Source, length time.Duration) error {
	algorithms, err := benched(c.String(flagAlgorithm))
	if err != nil {
		return err
	}
	sample, err := from.Take(c.Context, c.App.ErrWriter)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	r, err := newBenchRun(sample, algorithms)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if err := r.measure(length, term.NewSteps(c.App.ErrWriter, "measuring", length.Milliseconds())); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return printReport(c.App.Writer, c.Bool(flagJSON), r.report(sample))
}

// benched returns the variants to measure: of the algorithms that a list names, else of all worth
// comparing. memcpy comes first: storing pages as they are, which is a copy each way.
func benched(list string) ([]codec.Variant, error) {
	algorithms := codec.Comparable()
	if list != "" {
		var err error
		if algorithms, err = parseAlgorithms(list); err != nil {
			return nil, err
		}
	}
	raw, err := codec.Parse(rawName)
	if err != nil {
		return nil, err
	}
	variants := []codec.Variant{{Algorithm: raw, Name: anchorName}}
	for _, a := range algorithms {
		if a != raw {
			variants = append(variants, a.Variants()...)
		}
	}
	return variants, nil
}

// anchorName is what a plain copy is called.
const anchorName = "memcpy"
