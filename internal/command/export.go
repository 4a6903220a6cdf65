// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/term"
)

const flagRange = "range"

func exportCommand() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write the contents of a device to a file",
		ArgsUsage: "DIR FILE",
		Description: "Writes everything that the device at DIR stores to FILE, while it is in use, decompressing on all processors. It reads the " +
			"device's memory directly, not its data file. FILE is as large as the device, or the range, with holes where the device holds " +
			"nothing or zeros. It appears once it is complete, readable by its owner only; after an error or an interruption there is " +
			"none.\n\n" +
			"A page that is written while export runs is exported as it was or as it is, and two pages may be from different moments: for " +
			"a consistent copy, nothing may write to the device. A damaged page is an error; zramfs verify lists those.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: flagRange, Usage: "export `FIRST:COUNT` only: the first page and the number of pages, of 4096 bytes each"},
			&cli.BoolFlag{Name: flagForce, Usage: "replace an existing FILE"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"},
		}, engineFlags()...),
		Action: exportAction,
	}
}

func exportAction(c *cli.Context) error {
	if c.NArg() != 2 || c.Args().Get(0) == "" || c.Args().Get(1) == "" {
		return usageError("export: name a DIR and a FILE, as zramfs export %s pages.img", defaultDir)
	}
	e := imageio.Exporter{Force: c.Bool(flagForce), Report: imageio.ExportReport{File: c.Args().Get(1)}}
	var err error
	if e.Engines, err = engineOptionsOf(c, imageio.Unpacking); err != nil {
		return err
	}
	if e.Report.First, e.Report.Pages, err = parseRange(c.String(flagRange)); err != nil {
		return err
	}
	d, err := findHere(c, c.Args().First())
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context)
	defer stop()
	e.Report.Dir, e.Stored, e.Progress = d.Dir, uint64(stored(d)), term.NewSteps(c.App.ErrWriter, "exporting", stored(d))
	if err := obey(ctx, func() error { return usageRange(e.Export(ctx)) }); err != nil {
		return fmt.Errorf("export %s: %w", d.Word(), explainKeeper(d, err))
	}
	return printExport(c.App.Writer, c.Bool(flagJSON), e.Report)
}

// usageRange turns a RangeError into a usage error.
func usageRange(err error) error {
	if beyond := (*imageio.RangeError)(nil); errors.As(err, &beyond) {
		return usageError("%w", err)
	}
	return err
}

// parseRange reads FIRST:COUNT. An empty text is the whole device, with a count of 0.
func parseRange(text string) (first, count uint64, err error) {
	if text == "" {
		return 0, 0, nil
	}
	from, n, ok := strings.Cut(text, ":")
	if ok {
		first, err = strconv.ParseUint(from, 10, 64)
	}
	if ok && err == nil {
		count, err = strconv.ParseUint(n, 10, 64)
	}
	if !ok || err != nil || count == 0 {
		return 0, 0, usageError("range %q: want FIRST:COUNT, the first page and the number of pages", text)
	}
	return first, count, nil
}

func printExport(w io.Writer, asJSON bool, r imageio.ExportReport) error {
	if asJSON {
		return printJSON(w, map[string]imageio.ExportReport{"export": r})
	}
	_, err := fmt.Fprintf(w, "%s written: %s of data in a %s sparse file, in %.1f s, %.2f GB/s\n%s",
		term.ShellWord(r.File), term.Size(r.Data*pageSize), term.Size(r.Pages*pageSize), r.Seconds, r.GBPerSecond, r.WorkReport.Text())
	return err
}
