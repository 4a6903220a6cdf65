// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
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
			"detaches the loop device and unmounts DIR (default " + defaultDir + "). What is not running is no error. It can be " +
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
		_, err = fmt.Fprintf(c.App.Writer, "%s is not running\n", dir)
		return err
	}
	if err != nil {
		return err
	}
	if d.Mountpoint != "" {
		return fmt.Errorf("%s has a file system on %s: umount it first", d.name(), d.Mountpoint)
	}
	return takeDown(c.App.Writer, d, all, c.Bool(flagForce))
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
	for _, area := range areas {
		if err := turnOff(out, area); err != nil {
			return err
		}
	}
	if err := detachAll(d); err != nil {
		return err
	}
	if len(d.Loops) > 0 {
		if err := printStep(out, "loop", "ok", d.name()+" detached"); err != nil {
			return err
		}
	}
	d.Loops = nil
	if err := unmountAndWait(d); err != nil {
		return err
	}
	return printStep(out, "mount", "ok", d.Dir+" unmounted")
}

// detachAll detaches what loop devices are on d now. One that was swapped to has detached itself, and its number may be
// somebody else's already, so they are looked up again.
func detachAll(d device) error {
	loops, err := loopsetup.Find(d.data())
	if err != nil {
		return err
	}
	for _, path := range loops {
		if err := loopsetup.Detach(path); err != nil && !errors.Is(err, loopsetup.ErrNotAttached) {
			return err
		}
	}
	return waitDetached(d.Dir)
}

// swapAreas returns the active swap areas on the loop devices of d.
func swapAreas(d device) ([]loopsetup.Swap, error) {
	if d.Swap == nil {
		return nil, nil
	}
	swaps, err := loopsetup.Swaps()
	if err != nil {
		return nil, err
	}
	var areas []loopsetup.Swap
	for _, s := range swaps {
		for _, loop := range d.Loops {
			if loop.Path == s.Path {
				areas = append(areas, s)
			}
		}
	}
	return areas, nil
}

// turnOff brings back the pages of one area, showing how far it is.
func turnOff(out io.Writer, area loopsetup.Swap) error {
	done := make(chan error, 1)
	began := time.Now()
	go func() {
		err := loopsetup.SwapOff(area.Path)
		if err != nil {
			err = explainSwapOff(err)
		}
		done <- err
	}()
	if err := showReturn(out, area, done); err != nil {
		return err
	}
	detail := fmt.Sprintf("%s off, %s brought back in %s", area.Path, humanSize(area.Used), humanDuration(time.Since(began)))
	return printStep(out, "swap", "ok", detail)
}

func humanDuration(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return humanTime(d)
}

// errStillAttached means that a loop device did not go although it was told to.
var errStillAttached = errors.New("a loop device is still attached")

// detachTime bounds the wait for loop devices that are being let go: something like udev may be looking at one.
const detachTime = 10 * time.Second

// waitDetached waits until no loop device is on the data file of dir.
func waitDetached(dir string) error {
	data := device{Dir: dir}.data()
	for end := time.Now().Add(detachTime); ; time.Sleep(busyPause) {
		loops, err := loopsetup.Find(data)
		if err != nil || len(loops) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: %v is on %s, and somebody has it open", errStillAttached, loops, data)
		}
	}
}
