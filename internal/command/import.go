// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

func importCommand() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "fill a device from a file",
		ArgsUsage: "FILE DIR",
		Description: "Copies FILE to the beginning of the device at DIR; data beyond the end of FILE stays unchanged. The size of FILE is a " +
			"multiple of 4096 bytes, at most that of the device. This command compresses FILE on all processors, by the device's " +
			"algorithm, and the serving process stores the result.\n\n" +
			"A device with a loop device or swap on it is refused; so is one whose data file a process has open, without --force. After " +
			"an error or an interruption, a part of FILE is stored, up to the page that the message names.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: flagForce, Usage: "import even if a process has the data file open"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"},
		}, engineFlags()...),
		Action: importAction,
	}
}

func importAction(c *cli.Context) (err error) {
	if c.NArg() != 2 || c.Args().Get(0) == "" || c.Args().Get(1) == "" {
		return usageError("import: name a FILE and a DIR, as zramfs import pages.img %s", defaultDir)
	}
	engines, err := engineOptionsOf(c, imageio.Packing)
	if err != nil {
		return err
	}
	d, err := findHere(c, c.Args().Get(1))
	if err != nil {
		return err
	}
	if d, err = unopened(d, func(d swapdev.Device) error { return mayImport(d, c.Bool(flagForce)) }); err != nil {
		return fmt.Errorf("import to %s: %w", d.Word(), err)
	}
	f, err := os.OpenFile(c.Args().First(), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO is refused, not waited for
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	m := imageio.Importer{File: f, Algorithm: d.Status.Algorithm, Connection: d.Status.Fuse.Connection, Opens: d.Status.Opens, Engines: engines, Report: imageio.ImportReport{File: c.Args().First(), Dir: d.Dir}}
	if m.Report.Pages, err = pagesToImport(f, d.Status.Disksize); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	ctx, stop := interruptible(c.Context)
	defer stop()
	m.Progress = term.NewSteps(c.App.ErrWriter, "importing", int64(m.Report.Pages))
	if err := obey(ctx, func() error { return m.Run(ctx) }); err != nil {
		return fmt.Errorf("import %s: %w", m.Report.File, explainKeeper(d, err))
	}
	return printImport(c.App.Writer, c.Bool(flagJSON), m.Report)
}

// The data file is looked at closeTries times, with a pause between two looks.
const (
	closeTries = 20
	closePause = 50 * time.Millisecond
)

// unopened waits a moment for the data file of d to be closed, if may refuses d until then: the
// serving process learns of it a little later.
func unopened(d swapdev.Device, may func(swapdev.Device) error) (swapdev.Device, error) {
	for try := 1; ; try++ {
		err := may(d)
		if err == nil || d.Status == nil || len(d.Loops) > 0 || try == closeTries {
			return d, err
		}
		time.Sleep(closePause)
		if d.Status, d.Err = swapdev.ReadStatus(d.Dir); d.Err != nil {
			return d, d.Err
		}
	}
}

// mayImport returns the reason why d takes no import.
func mayImport(d swapdev.Device, force bool) error {
	switch {
	case d.Status == nil:
		return d.Err
	case len(d.Loops) > 0:
		return errors.New("it is in use: " + swapdev.UsersOf(d))
	case d.Status.Opens > 0 && !force:
		return fmt.Errorf("a process has its data file open: --%s imports anyway", flagForce)
	}
	return nil
}

// pagesToImport returns the number of pages in a file that fits on a device of disksize bytes.
func pagesToImport(f *os.File, disksize uint64) (uint64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := uint64(info.Size())
	switch {
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%s is not a regular file", f.Name())
	case size == 0:
		return 0, fmt.Errorf("%s is empty", f.Name())
	case size%pageSize != 0:
		return 0, fmt.Errorf("%s has %d bytes, not a multiple of %d: truncate -s %%%[3]d %[1]s pads it", term.ShellWord(f.Name()), size, pageSize)
	case size > disksize:
		return 0, fmt.Errorf("%s has %s, and the device %s", f.Name(), term.ExactSize(size), term.ExactSize(disksize))
	}
	return size / pageSize, nil
}

func printImport(w io.Writer, asJSON bool, r imageio.ImportReport) error {
	if asJSON {
		return printJSON(w, map[string]imageio.ImportReport{"import": r})
	}
	_, err := fmt.Fprintf(w, "%s: %s imported to %s (%s compressed, %s same-filled) in %.1f s, %.2f GB/s\n%s",
		term.ShellWord(r.File), term.Pages(r.Pages), term.ShellWord(r.Dir), term.Size(r.ObjectBytes), term.Grouped(r.Same), r.Seconds, r.GBPerSecond, r.WorkReport.Text())
	return err
}
