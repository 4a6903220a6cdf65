// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/dictionary"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/safeopen"
	"github.com/zramfs/zramfs/internal/sample"
	"github.com/zramfs/zramfs/internal/term"
)

const (
	flagOutput = "output"
	flagPages  = "pages"
	flagLevel  = "level"

	// trainDefault is the default size of a dictionary. On real pages 4 KiB gain nearly as much and
	// 64 KiB no more, and every worker of a device holds a few copies.
	trainDefault = "16K"
)

func dictCommand() *cli.Command {
	return &cli.Command{
		Name:      "dict",
		Usage:     "train a dictionary for zstd",
		ArgsUsage: "train [DIR]",
		Description: "Trains a dictionary on the pages of the device at DIR, which may be up, or of a file of 4096-byte pages, and writes it in " +
			"the format of zstd --train. A quarter of the pages is kept aside to measure the gain; without a " +
			"gain, no file is written.\n\n" +
			"A device uses the dictionary with --algorithm 'zstd(level=1,dict=FILE)' and reads FILE once, when it starts.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: flagOutput, Aliases: []string{"o"}, Usage: "`FILE` to write; it must not exist"},
			&cli.StringFlag{Name: flagPages, Aliases: []string{"p"}, Usage: "take the pages from `FILE` and not from a device"},
			&cli.IntFlag{Name: flagLevel, Aliases: []string{"l"}, Value: 1, Usage: "`LEVEL` of zstd to train for, from 1 to 19"},
			&cli.StringFlag{Name: flagSize, Aliases: []string{"s"}, Value: trainDefault, Usage: "most bytes that the dictionary may have, as `SIZE`, from 4K to 112K"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON, sizes in bytes"},
		},
		Action: dictAction,
	}
}

func dictAction(c *cli.Context) error {
	if c.Args().First() != "train" {
		return usageError("dict: name a subcommand: zramfs dict train -o FILE DIR")
	}
	t, err := readTraining(c)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context)
	defer stop()
	return obey(ctx, func() error {
		r, err := t.Run(ctx, c.App.ErrWriter)
		if err != nil {
			return err
		}
		if c.Bool(flagJSON) {
			return printJSON(c.App.Writer, map[string]dictionary.Report{"dict": r})
		}
		return printReport(c.App.Writer, false, r)
	})
}

// readTraining reads the flags and arguments of dict train. Its errors are usage errors, except for
// a DIR without a device.
func readTraining(c *cli.Context) (dictionary.Training, error) {
	t := dictionary.Training{File: c.String(flagOutput), Level: c.Int(flagLevel)}
	size, err := parseLimit(c.String(flagSize), 0)
	if err != nil {
		return t, err
	}
	t.Size = int(min(size, 1<<30))
	if _, err = codec.Parse(fmt.Sprintf("zstd(level=%d)", t.Level)); err != nil {
		return t, usageError("dict: --%s %d: must be from 1 to 19", flagLevel, t.Level)
	}
	pages, dirs := c.String(flagPages), c.Args().Tail()
	switch {
	case t.Size < codec.MinDictionary || t.Size > codec.MaxDictionary:
		return t, usageError("dict: --%s %s: must be from %s to %s", flagSize, c.String(flagSize), term.Size(codec.MinDictionary), term.Size(codec.MaxDictionary))
	case t.File == "":
		return t, usageError("dict: name the FILE to write by --%s", flagOutput)
	case pages != "" && len(dirs) > 0 || len(dirs) > 1:
		return t, usageError("dict: one DIR or --%s FILE, not more", flagPages)
	case pages != "":
		t.From = pages
		t.Open = func() (dictionary.Source, error) { return sample.OpenFile(pages) }
		return t, nil
	case len(dirs) == 0:
		return t, usageError("dict: name one DIR, as zramfs dict train -o FILE /run/zram, or --%s FILE", flagPages)
	}
	d, err := findHere(c, dirs[0])
	if err != nil {
		return t, err
	}
	t.From = d.Dir
	t.Open = func() (dictionary.Source, error) {
		pages, err := imageio.OpenPages(d.Dir)
		if err != nil {
			return nil, fmt.Errorf("dict %s: %w", d.Word(), explainKeeper(d, err))
		}
		return pages, nil
	}
	return t, nil
}

// parseAlgorithm reads the name of an algorithm and its dictionary, and makes the dictionary's path
// absolute: the serving process has another working directory. Its errors are usage errors.
func parseAlgorithm(name string) (codec.Algorithm, error) {
	a, err := codec.Parse(name, engineNames()...)
	if err != nil {
		return a, unknownAlgorithm(name, err)
	}
	file := a.DictionaryFile()
	if file == "" {
		return a, nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return a, usageError("dictionary %s: %w", file, err)
	}
	data, err := safeopen.Read(path, codec.MaxDictionary)
	if err != nil {
		return a, usageError("dictionary: %w", err)
	}
	if a, err = a.WithDictionary(path, data); err != nil {
		return a, usageError("%w", err)
	}
	return a, nil
}
