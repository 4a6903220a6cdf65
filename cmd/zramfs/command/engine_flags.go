// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// The flags of all commands that do bulk work.
const (
	flagGPU       = "gpu"
	flagGPUDevice = "gpu-device"
	flagGPUBatch  = "gpu-batch"
	flagGPUSlots  = "gpu-ring-slots"
)

// What --gpu may be: engines where there are any, none, or none is an error.
const (
	gpuAuto    = "auto"
	gpuOff     = "off"
	gpuRequire = "require"
)

var gpuModes = []string{gpuAuto, gpuOff, gpuRequire}

// What the numbers may be, as package gpu has it, of which the default program knows nothing.
const (
	mostGPUBatch = 1 << 17
	mostGPUSlots = 64
	allGPUs      = -1
)

// engineOptions say which engines are wanted beside the CPU and how they work. The zero value is
// not one: see engineOptionsOf.
type engineOptions struct {
	mode         string // one of gpuModes
	device       int    // its number, or allGPUs
	batch, slots int    // pages of a piece, and pieces at a time; 0 is the engine's own
	task         task   // what they are for
	pages        uint64 // of the work, as far as that is known; 0 if it is not
}

// A task is a part of bulk work that not every engine is good for.
type task uint8

// The tasks.
const (
	anyTask   task = iota
	packing        // making objects
	unpacking      // reading them
)

// fewPages is too few of them to open an engine for that nobody has asked for: cores do them in
// less time, a gigabyte. Changed by tests alone.
var fewPages uint64 = 1 << 18

// engineFlags are the flags that engineOptionsOf reads. Every program has them, so that the same
// words do everywhere.
func engineFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagGPU, Value: gpuAuto, Usage: "`WHEN` to use GPUs: " + gpuAuto + " is where there are any, " + gpuOff + ", " + gpuRequire},
		&cli.IntFlag{Name: flagGPUDevice, Usage: "use the GPU of this `NUMBER` alone, from 0 on", DefaultText: "all"},
		&cli.IntFlag{Name: flagGPUBatch, Usage: "give a GPU at most `PAGES` at a time", DefaultText: "8192, or fewer where memory is short"},
		&cli.IntFlag{Name: flagGPUSlots, Usage: "keep up to `N` of these under way", DefaultText: "4"},
	}
}

// engineOptionsOf reads the flags of a command with a task. That none can be had of what is
// required is an error here in a program that has none.
func engineOptionsOf(c *cli.Context, t task) (engineOptions, error) {
	o := engineOptions{mode: c.String(flagGPU), device: allGPUs, batch: c.Int(flagGPUBatch), slots: c.Int(flagGPUSlots), task: t}
	if !slices.Contains(gpuModes, o.mode) {
		return o, usageError("--%s %q: it is one of %s", flagGPU, o.mode, strings.Join(gpuModes, ", "))
	}
	if c.IsSet(flagGPUDevice) {
		if o.device = c.Int(flagGPUDevice); o.device < 0 {
			return o, usageError("--%s %d: they are counted from 0 on", flagGPUDevice, o.device)
		}
	}
	for _, n := range []struct {
		flag     string
		is, most int
	}{{flagGPUBatch, o.batch, mostGPUBatch}, {flagGPUSlots, o.slots, mostGPUSlots}} {
		if c.IsSet(n.flag) && (n.is < 1 || n.is > n.most) {
			return o, usageError("--%s %d: it is from 1 to %d", n.flag, n.is, n.most)
		}
	}
	if o.mode == gpuRequire && len(engineKinds) == 0 {
		return o, &exitError{code: exitUsage, cause: fmt.Errorf("--%s %s: %w", flagGPU, gpuRequire, errNoEngines)}
	}
	return o, nil
}
