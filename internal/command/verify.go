// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check everything that a device stores",
		ArgsUsage: "[DIR]",
		Description: "Reads everything that the device at DIR (default " + defaultDir + ") stores, while it is in use, and checks each page by " +
			"its checksum and by decompressing it, on all processors. It reads the device's memory directly, not its data file. It changes " +
			"nothing. Pages on a backing device are counted and not read.\n\n" +
			"Reading a damaged page from the device is an I/O error until it is written again or discarded. A page begins in the data file at its number times 4096. The speed counts pages that have " +
			"to be decompressed.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"},
		}, engineFlags()...),
		Action: verifyAction,
	}
}

func verifyAction(c *cli.Context) error {
	o, err := engineOptionsOf(c, imageio.Unpacking)
	if err != nil {
		return err
	}
	d, err := namedDevice(c, "verify")
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context)
	defer stop()
	o.Pages = uint64(stored(d))
	var r imageio.VerifyReport
	err = obey(ctx, func() (err error) {
		r, err = imageio.Verify(ctx, d.Dir, o, term.NewSteps(c.App.ErrWriter, "verifying", stored(d)))
		return err
	})
	if err != nil {
		return fmt.Errorf("verify %s: %w", d.Word(), explainKeeper(d, err))
	}
	if err := printVerify(c.App.Writer, c.Bool(flagJSON), r); err != nil {
		return err
	}
	if r.Wrong > 0 {
		return exitWith(exitFailure)
	}
	return nil
}

// stored returns how many pages a device says it stores; 0 without an answer.
func stored(d swapdev.Device) int64 {
	if d.Status == nil {
		return 0
	}
	return int64(d.Status.Memory.PagesStored)
}

func printVerify(w io.Writer, asJSON bool, r imageio.VerifyReport) error {
	if asJSON {
		return printJSON(w, map[string]imageio.VerifyReport{"verify": r})
	}
	var out strings.Builder
	found := "no errors"
	if r.WrittenBack > 0 {
		found = fmt.Sprintf("no errors; %s on the backing device not checked", term.Pages(r.WrittenBack))
	}
	if r.Wrong > 0 {
		found = fmt.Sprintf("%s damaged: %s", term.Grouped(r.Wrong), listNumbers(r.WrongPages, r.Wrong))
	}
	fmt.Fprintf(&out, "%s: %s checked (%s compressed, %s same-filled) in %.1f s, %.2f GB/s: %s\n",
		term.ShellWord(r.Dir), term.Pages(r.Pages), term.Size(r.ObjectBytes), term.Grouped(r.Same), r.Seconds, r.GBPerSecond, found)
	out.WriteString(r.WorkReport.Text())
	_, err := io.WriteString(w, out.String())
	return err
}

// listNumbers lists the given ones of total numbers.
func listNumbers(numbers []uint64, of uint64) string {
	list := strings.Trim(fmt.Sprint(numbers), "[]")
	if more := of - uint64(len(numbers)); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
