// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

const (
	flagLive   = "live"
	flagResume = "resume"

	snapshotSave    = "save"
	snapshotRestore = "restore"
	snapshotInspect = "inspect"
)

func snapshotCommand() *cli.Command {
	return &cli.Command{
		Name:      "snapshot",
		Usage:     "save a device that holds data, compressed as it is, and restore it",
		ArgsUsage: "save DIR FILE | restore FILE DIR | inspect FILE",
		Description: "save: Writes the compressed pages of the device at DIR to FILE, as they are, with checksums. All of them are of one " +
			"moment: a device whose data file a process has open is refused, and so is one that is written to before save ends. With " +
			"--live, pages are as they were when they were copied, each as a whole, and FILE says whether any was written meanwhile. " +
			"Until it is complete, the file has the name FILE.partial; an error, an interruption or a kill leave it for --resume, which " +
			"keeps what the device still holds so.\n\n" +
			"restore: Makes the device at DIR hold what was saved, and zeros elsewhere. It reads and checks all of FILE first: damage, " +
			"another version and a device that is too small change nothing. Pages are stored in the format that they have. DIR may be " +
			"larger than the device that was saved, and of any algorithm. It must not be in use, and without --force it must be empty. " +
			"--resume goes on with a restore that was interrupted: it stores the pages that DIR does not hold yet, and changes nothing " +
			"where DIR holds anything else.\n\n" +
			"inspect: Prints what FILE holds and checks all of it. Of a damaged FILE it prints the position.\n\n" +
			"Swap is refused: its pages mean nothing without the processes that they belong to.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: flagLive, Usage: "save: the device may be in use and written to"},
			&cli.BoolFlag{Name: flagResume, Usage: "save, restore: go on where an earlier one ended"},
			&cli.BoolFlag{Name: flagForce, Usage: "save: replace FILE and FILE.partial; restore: replace what DIR holds"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON, sizes in bytes"},
		},
		Action: snapshotAction,
	}
}

func snapshotAction(c *cli.Context) error {
	switch what := c.Args().First(); {
	case what == snapshotSave && wordsOf(c, 3):
		return saveAction(c)
	case what == snapshotRestore && wordsOf(c, 3) && !c.Bool(flagLive):
		return restoreAction(c)
	case what == snapshotInspect && wordsOf(c, 2) && !c.Bool(flagLive) && !c.Bool(flagResume) && !c.Bool(flagForce):
		return inspectAction(c)
	case what == snapshotRestore && wordsOf(c, 3):
		return usageError("snapshot: --%s is for zramfs snapshot %s", flagLive, snapshotSave)
	case what == snapshotInspect && wordsOf(c, 2):
		return usageError("snapshot: %s has the flag --%s only", snapshotInspect, flagJSON)
	}
	return usageError("snapshot: say what to do: zramfs snapshot %s DIR FILE, %s FILE DIR or %s FILE", snapshotSave, snapshotRestore, snapshotInspect)
}

// wordsOf reports whether a command has n arguments, and none is empty.
func wordsOf(c *cli.Context, n int) bool {
	return c.NArg() == n && !slices.Contains(c.Args().Slice(), "")
}

func saveAction(c *cli.Context) error {
	d, err := findHere(c, c.Args().Get(1))
	if err != nil {
		return err
	}
	if d, err = unopened(d, func(d swapdev.Device) error { return maySave(d, c.Bool(flagLive)) }); err != nil {
		return fmt.Errorf("snapshot of %s: %w", d.Word(), err)
	}
	s := imageio.Saver{Force: c.Bool(flagForce), Resume: c.Bool(flagResume), Live: c.Bool(flagLive), Kinds: engineKinds, Report: imageio.SaveReport{Dir: d.Dir, File: c.Args().Get(2)}}
	s.Changes = func() (uint64, error) { return changesOf(d.Dir) }
	s.Progress = term.NewSteps(c.App.ErrWriter, "saving", stored(d))
	ctx, stop := interruptible(c.Context)
	defer stop()
	if err := obey(ctx, func() error { return s.Save(ctx) }); err != nil {
		return fmt.Errorf("snapshot of %s: %w", d.Word(), explainKeeper(d, err))
	}
	return printSave(c.App.Writer, c.Bool(flagJSON), s.Report)
}

// changesOf asks the device at dir how many pages were ever written to it or discarded.
func changesOf(dir string) (uint64, error) {
	now, err := swapdev.ReadStatus(dir)
	if err != nil {
		return 0, err
	}
	return changes(now), nil
}

func changes(s *status.Status) uint64 { return s.IO.Writes + s.IO.Discards }

// maySave returns the reason why d is not saved.
func maySave(d swapdev.Device, live bool) error {
	switch {
	case d.Status == nil:
		return d.Err
	case isSwap(d):
		return errors.New("it is used as swap, and its pages mean nothing without the processes that they belong to: zramfs export copies them for analysis")
	case d.Status.Opens > 0 && !live:
		return fmt.Errorf("it is in use: %s; --%s saves it nevertheless, each page as it is when it is copied", swapdev.UsersOf(d), flagLive)
	}
	return nil
}

// isSwap reports whether swap is on a device.
func isSwap(d swapdev.Device) bool {
	for _, loop := range d.Loops {
		if d.SwapOn(loop.Path) != nil {
			return true
		}
	}
	return false
}

func restoreAction(c *cli.Context) error {
	file := c.Args().Get(1)
	d, err := findHere(c, c.Args().Get(2))
	if err != nil {
		return err
	}
	if d, err = unopened(d, mayRestore); err != nil {
		return fmt.Errorf("restore to %s: %w", d.Word(), err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	r := imageio.Restorer{
		Force: c.Bool(flagForce), Resume: c.Bool(flagResume), Empty: stored(d) == 0, Connection: d.Status.Fuse.Connection, Opens: d.Status.Opens, Kinds: engineKinds,
		Changes: func() (uint64, error) { return changesOf(d.Dir) }, Changed: changes(d.Status),
		Progress: term.NewSteps(c.App.ErrWriter, "restoring", 2*info.Size()), Report: imageio.RestoreReport{File: file, Dir: d.Dir},
	}
	ctx, stop := interruptible(c.Context)
	defer stop()
	if err := obey(ctx, func() error { return r.Restore(ctx) }); err != nil {
		return fmt.Errorf("restore to %s: %w", d.Word(), explainKeeper(d, err))
	}
	return printRestore(c.App.Writer, c.Bool(flagJSON), r.Report)
}

// mayRestore returns the reason why d takes no restore.
func mayRestore(d swapdev.Device) error {
	switch {
	case d.Status == nil:
		return d.Err
	case len(d.Loops) > 0 || d.Status.Opens > 0:
		return errors.New("it is in use: " + swapdev.UsersOf(d))
	}
	return nil
}

func inspectAction(c *cli.Context) error {
	file := c.Args().Get(1)
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context)
	defer stop()
	var r imageio.InspectReport
	err = obey(ctx, func() (err error) {
		r, err = imageio.Inspect(ctx, file, term.NewSteps(c.App.ErrWriter, "checking", info.Size()))
		return err
	})
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	if err := printInspect(c.App.Writer, c.Bool(flagJSON), r); err != nil {
		return err
	}
	if r.Damage != nil {
		return exitWith(exitFailure)
	}
	return nil
}
