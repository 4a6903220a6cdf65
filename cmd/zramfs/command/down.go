// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"zramfs/loopsetup"
)

func downCommand() *cli.Command {
	return &cli.Command{
		Name:      "down",
		Usage:     "turn compressed swap off and end its device",
		ArgsUsage: "[DIR]",
		Description: "Brings back what is in swap, after a look at whether it fits into memory and the limits of control groups, " +
			"detaches the loop devices, gives the kernel parameters that up changed their old values, unless somebody has changed " +
			"them since, and unmounts DIR (default " + defaultDir + "). What is not running is no error. It can be " +
			"interrupted while pages come back: swap then stays on.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: flagForce, Usage: "go on when it does not fit into memory, or the serving process does not answer"},
		},
		Action: downAction,
	}
}

func downAction(c *cli.Context) error {
	dir, err := oneDir(c, "down")
	if err != nil {
		return err
	}
	all, err := findDevices()
	if err != nil {
		return err
	}
	d, err := pickDevice(all, dir)
	if errors.Is(err, errNotRunning) {
		return forgetGone(c.App.Writer, thisMachine(), dir, all)
	}
	if err != nil {
		return err
	}
	if d.Mountpoint != "" {
		return fmt.Errorf("%s has a file system on %s: umount it first", d.name(), d.Mountpoint)
	}
	return takeDown(c.App.Writer, d, all, c.Bool(flagForce))
}

// forgetGone says that no device is on dir, and restores what one that died there has left changed. One that is only out of sight is not gone.
func forgetGone(out io.Writer, m machine, dir string, all []device) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := checkGone(m, path, all); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s is not running\n", dir); err != nil {
		return err
	}
	return forget(out, m, path, all)
}

// errOutOfSight means that a device is mounted nowhere that can be seen, and is used.
var errOutOfSight = errors.New("it is not mounted here, but in another mount namespace or behind a lazy unmount, and is in use")

// checkGone fails when a loop device that up noted for dir is still on its data file: it may be swapped to. Without numbers of sequence (before Linux 5.15)
// one of another device may look like that.
func checkGone(m machine, dir string, all []device) error {
	rec, err := readRecord(m, dir)
	if err != nil {
		return nil // nothing is known of it; forget says what is wrong with a record
	}
	loops, err := device{Dir: dir, noted: rec.Loops}.attached()
	if err != nil {
		return err
	}
	for _, loop := range loops {
		if _, others := deviceAt(all, loop.Path); !others {
			return fmt.Errorf("%s: %w: %s is on its data file; run zramfs down where it is mounted, or swapoff %[3]s", dir, errOutOfSight, loop.Path)
		}
	}
	return nil
}

// takeDown undoes up, in reverse. Each step is left out where there is nothing to do.
func takeDown(out io.Writer, d device, all []device, force bool) error {
	areas, err := swapAreas(d)
	if err != nil {
		return err
	}
	if !force {
		if err := checkReturn(out, d, all, areas); err != nil {
			return err
		}
	}
	if err := turnOff(out, areas); err != nil {
		return err
	}
	if err := detachAll(d); err != nil {
		return err
	}
	if len(d.Loops) > 0 {
		if err := printStep(out, "loop", "ok", strings.Join(loopPaths(d.Loops), " ")+" detached"); err != nil {
			return err
		}
	}
	d.Loops = nil
	if err := forget(out, thisMachine(), d.Dir, all); err != nil {
		return err
	}
	if err := unmountAndWait(d); err != nil {
		return err
	}
	return printStep(out, "mount", "ok", d.Dir+" unmounted")
}

// detachAll detaches what loop devices are on d now. One that was swapped to has detached itself, and its number may be
// somebody else's already, so they are looked up again.
func detachAll(d device) error {
	loops, err := d.attached()
	if err != nil {
		return err
	}
	for _, loop := range loops {
		if err := loopsetup.Detach(loop.Path); err != nil && !errors.Is(err, loopsetup.ErrNotAttached) {
			return err
		}
	}
	return d.waitDetached()
}

// swapAreas returns the active swap areas on the loop devices of d, as they are now.
func swapAreas(d device) ([]loopsetup.Swap, error) {
	if len(d.Swaps) == 0 {
		return nil, nil
	}
	swaps, err := loopsetup.Swaps()
	if err != nil {
		return nil, err
	}
	var areas []loopsetup.Swap
	for _, loop := range d.Loops {
		for _, s := range swaps {
			if loop.Path == s.Path {
				areas = append(areas, s)
			}
		}
	}
	return areas, nil
}

// turnOff brings back the pages of all areas, showing how far it is. It turns them off at the same time: one after the other, the
// kernel could send to the second what has come back from the first.
func turnOff(out io.Writer, areas []loopsetup.Swap) error {
	var off sync.WaitGroup
	took, errs := make([]time.Duration, len(areas)), make([]error, len(areas))
	began := time.Now()
	for i, area := range areas {
		off.Go(func() {
			if err := loopsetup.SwapOff(area.Path); err != nil {
				errs[i] = explainSwapOff(err)
			}
			took[i] = time.Since(began)
		})
	}
	done := make(chan error, 1)
	go func() {
		off.Wait()
		done <- errors.Join(errs...)
	}()
	if err := showReturn(out, areas, done); err != nil {
		return err
	}
	for i, area := range areas {
		detail := fmt.Sprintf("%s off, %s brought back in %s", area.Path, humanSize(area.Used), humanDuration(took[i]))
		if err := printStep(out, "swap", "ok", detail); err != nil {
			return err
		}
	}
	return nil
}

func humanDuration(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return humanTime(d)
}
