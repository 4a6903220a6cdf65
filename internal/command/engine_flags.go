// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/imageio"
)

// The flags of all commands that do bulk work.
const (
	flagGPU       = "gpu"
	flagGPUDevice = "gpu-device"
	flagGPUBatch  = "gpu-batch"
	flagGPUSlots  = "gpu-ring-slots"
)

// engineKinds are the kinds of engine other than the CPU. Only tests change them.
var engineKinds = imageio.Kinds()

// engineNames returns the engines that "backend=" accepts in an algorithm.
func engineNames() (names []string) {
	for _, k := range engineKinds {
		names = append(names, k.Name)
	}
	return names
}

// engineFlags are the flags that engineOptionsOf reads. Every build has them, so that the same
// command line works everywhere.
func engineFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagGPU, Value: imageio.Auto, Usage: "`WHEN` to use GPUs: " + imageio.Auto + " (where there are any), " + imageio.Off + " or " + imageio.Require},
		&cli.IntFlag{Name: flagGPUDevice, Usage: "use the GPU of this `NUMBER` alone, from 0 on", DefaultText: "all"},
		&cli.IntFlag{Name: flagGPUBatch, Usage: "give a GPU at most `PAGES` at a time", DefaultText: "4096, or fewer where memory is short"},
		&cli.IntFlag{Name: flagGPUSlots, Usage: "keep up to `N` of these under way", DefaultText: "8"},
	}
}

// engineOptionsOf reads the flags of a command with a task. Requiring an engine in a program
// without any is an error here.
func engineOptionsOf(c *cli.Context, t imageio.Task) (imageio.Options, error) {
	o := imageio.Options{Mode: c.String(flagGPU), Device: imageio.AllDevices, Batch: c.Int(flagGPUBatch), Slots: c.Int(flagGPUSlots), Task: t, Kinds: engineKinds, Room: host.Local.Headroom}
	if !slices.Contains(imageio.Modes, o.Mode) {
		return o, usageError("--%s %q: must be one of %s", flagGPU, o.Mode, strings.Join(imageio.Modes, ", "))
	}
	if c.IsSet(flagGPUDevice) {
		if o.Device = c.Int(flagGPUDevice); o.Device < 0 {
			return o, usageError("--%s %d: GPUs are numbered from 0", flagGPUDevice, o.Device)
		}
	}
	for _, n := range []struct {
		flag     string
		is, most int
	}{{flagGPUBatch, o.Batch, imageio.MaxBatch}, {flagGPUSlots, o.Slots, imageio.MaxSlots}} {
		if c.IsSet(n.flag) && (n.is < 1 || n.is > n.most) {
			return o, usageError("--%s %d: must be from 1 to %d", n.flag, n.is, n.most)
		}
	}
	if o.Mode == imageio.Require && len(engineKinds) == 0 {
		return o, &exitError{code: exitUsage, cause: fmt.Errorf("--%s %s: %w", flagGPU, imageio.Require, imageio.ErrNoEngines)}
	}
	return o, nil
}
