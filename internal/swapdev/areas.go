// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/moby/sys/mountinfo"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/loopsetup"
)

// readSwaps returns the areas in /proc/swaps. Without the file there are none, or all are hidden;
// see loopsetup.Hidden.
func readSwaps() ([]loopsetup.Swap, error) {
	swaps, err := loopsetup.Swaps()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return swaps, err
}

// SwapAreas returns the active swap areas on the loop devices of all. It looks these up again:
// down may have waited for memory, or ended other devices, since they were found, and the number
// of one that has detached itself may belong to other swap by now.
func SwapAreas(all ...Device) (areas []loopsetup.Swap, err error) {
	s := &survey{}
	if s.mounts, err = host.Local.Mounts(); err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	if s.swaps, err = readSwaps(); err != nil {
		return nil, err
	}
	return s.areasOn(all)
}

// areasOn is SwapAreas with these mounts and areas of the machine.
func (s *survey) areasOn(all []Device) (areas []loopsetup.Swap, err error) {
	for _, d := range all {
		d.Unseen = nil
		if err := s.use(&d); err != nil {
			return nil, err
		}
		if s.findHidden(&d); d.Unseen != nil {
			return nil, fmt.Errorf("%s: %w", d.Title(), d.Unseen)
		}
		areas = append(areas, d.Swaps...)
	}
	return areas, nil
}

// IsOn reports whether a swap area that SwapAreas returned is still on.
func IsOn(ctx context.Context, area loopsetup.Swap) (bool, error) {
	swaps, err := readSwaps()
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(swaps, func(s loopsetup.Swap) bool { return s.Path == area.Path }) {
		return true, nil
	}
	if !area.Hidden {
		return false, nil
	}
	claimed, err := askClaimed(ctx, area.Path)
	return err == nil && claimed[0], err
}

// errUnseen means that a loop device may be swap, and that this cannot be found out.
var errUnseen = errors.New("it is unknown whether it is used as swap")

// findHidden adds to d the swap areas that /proc/swaps does not have by the names of its loop
// devices, if the kernel has more swap in use than was found there. The kernel claims the device
// of a swap area, as it does that of a file system, which has no swap header.
func (s *survey) findHidden(d *Device) {
	var rest []string
	for _, l := range d.Loops {
		mounted := func(m *mountinfo.Info) bool { return m.Source == l.Path }
		if d.SwapOn(l.Path) == nil && !slices.ContainsFunc(s.mounts, mounted) {
			rest = append(rest, l.Path)
		}
	}
	size, used := loopsetup.Hidden(s.swaps)
	if size == 0 || len(rest) == 0 {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), helper.AnswerTime)
	defer stop()
	claimed, err := askClaimed(ctx, rest...)
	if err != nil {
		d.Unseen = fmt.Errorf("%w: /proc/swaps does not show all swap of the machine: %w", errUnseen, err)
		return
	}
	areas := d.Swaps
	d.Swaps = nil
	for _, l := range d.Loops {
		if i := slices.IndexFunc(areas, func(a loopsetup.Swap) bool { return a.Path == l.Path }); i >= 0 {
			d.Swaps = append(d.Swaps, areas[i])
		} else if i := slices.Index(rest, l.Path); i >= 0 && claimed[i] && mayBeSwap(ctx, l.Path) {
			header := uint64(os.Getpagesize())
			d.Swaps = append(d.Swaps, loopsetup.Swap{Path: l.Path, Type: "partition", Size: l.Size - min(header, l.Size), Hidden: true})
		}
	}
	shareOut(d.Swaps, used)
}

// askClaimed is loopsetup.Claimed for some loop devices, in another process: the last close of a
// loop device may wait for its server.
func askClaimed(ctx context.Context, paths ...string) ([]bool, error) {
	text, err := helper.Call(ctx, helper.Claimed, paths...)
	claimed := make([]bool, len(paths))
	if err == nil {
		err = json.Unmarshal(text, &claimed)
	}
	return claimed, err
}

// mayBeSwap reports whether a loop device begins with a swap header. One that cannot be read may.
func mayBeSwap(ctx context.Context, path string) bool {
	text, err := helper.Call(ctx, helper.Probe, path)
	var p helper.FileSystem
	return err != nil || json.Unmarshal(text, &p) != nil || p.Swap
}

// shareOut divides the used part of hidden swap among the hidden areas by their sizes: no area
// uses more than it has, nor all together more than there is.
func shareOut(areas []loopsetup.Swap, used uint64) {
	var size uint64
	for _, a := range areas {
		if a.Hidden {
			size += a.Size
		}
	}
	for i := range areas {
		if a := &areas[i]; a.Hidden && size > 0 {
			a.Used = min(a.Size, uint64(float64(used)*float64(a.Size)/float64(size)))
		}
	}
}
