// SPDX-License-Identifier: Apache-2.0

//go:build cuda && (amd64 || arm64)

package imageio

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/internal/term"
)

// gpuName is the name of GPUs as a kind of engine.
const gpuName = "gpu"

// Kinds returns the kinds of engine that this program was built with: GPUs. Libcuda is loaded when
// a command opens or looks for engines, never by a process that serves a device.
func Kinds() []Kind { return []Kind{GPUs(driver.CUDA, driver.Options{})} }

// GPUs returns the kind of engine for a driver, which find loads.
func GPUs(find func() (*driver.Driver, error), d driver.Options) Kind {
	return Kind{
		Name:  gpuName,
		Open:  func(a codec.Algorithm, o Options) ([]bulk.Engine, error) { return openGPUs(find, d, a, o) },
		does:  usefulGPUs,
		Least: fewPages,
		Check: func() (string, bool, error) { return checkGPUs(find) },
	}
}

// usefulGPUs reports whether GPUs can do a part of a task: they read LZ4 blocks and the page format
// except its dense level, and make LZ4 blocks.
func usefulGPUs(a codec.Algorithm, t Task) bool {
	name := a.String()
	family, _, _ := strings.Cut(name, ":")
	switch t {
	case Packing:
		return family == "lz4"
	case Unpacking:
		return family == "lz4" || family == "adaptive" || family == "page" && !strings.HasPrefix(name, "page:dense")
	}
	return true
}

const (
	// lockedPage is the most locked memory that a page of a batch takes, in bytes, for its object
	// and the page itself: in three windows, as in an import, and in a slot.
	lockedPage = (importWindows + 1) * 2 * (pageSize + pageSize/16)
	// lockedShares is the part of the free memory, 1/lockedShares, that may be locked for a device
	// unless the batch is given: a machine that needs zramfs has little to spare.
	lockedShares = 8

	ownGPUBatch   = 4096 // pages, where memory allows it; below leastGPUBatch it is not worth it
	leastGPUBatch = 512
	ownGPUSlots   = 8
)

// fittingBatch returns the pages that a device gets at a time on a machine with room bytes free,
// and whether they fit its part.
func fittingBatch(room uint64, slots int) (pages int, fits bool) {
	for pages = ownGPUBatch; ; pages /= 2 {
		fits = uint64(pages*slots)*lockedPage <= room/lockedShares
		if fits || pages == leastGPUBatch {
			return pages, fits
		}
	}
}

// openGPUs opens the wanted GPUs.
func openGPUs(find func() (*driver.Driver, error), d driver.Options, a codec.Algorithm, o Options) ([]bulk.Engine, error) {
	if _, n := a.Engine(); o.Batch == 0 {
		o.Batch = min(n, MaxBatch)
	}
	if o.Slots == 0 {
		o.Slots = ownGPUSlots
	}
	if o.Batch == 0 {
		room, err := o.Room()
		if err != nil {
			return nil, err
		}
		batch, fits := fittingBatch(room, o.Slots)
		if !fits && o.Mode == Auto {
			return nil, fmt.Errorf("%s of memory are free, too little to lock a part", term.Size(room))
		}
		o.Batch = batch
	}
	options := gpu.Options{Device: o.Device, Batch: o.Batch, Slots: o.Slots, Compress: usefulGPUs(a, Packing), Driver: d}
	if o.Device == AllDevices {
		options.Device = gpu.AllDevices
	}
	opened, err := gpu.OpenAll(find, options)
	var engines []bulk.Engine
	for _, e := range opened {
		engines = append(engines, e)
	}
	return engines, err
}

// checkGPUs describes the GPUs and reports whether all of them can be used. It opens none.
func checkGPUs(find func() (*driver.Driver, error)) (detail string, usable bool, err error) {
	d, err := find()
	if err != nil {
		return term.OneLine(err.Error()), false, nil
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	usable = true
	var all []string
	for _, p := range d.Devices() {
		if err := p.Check(); err != nil {
			usable = false
			all = append(all, err.Error())
			continue
		}
		all = append(all, fmt.Sprintf("device %d, %s, has %s and compute capability %d.%d", p.Ordinal, p.Name, term.Size(uint64(p.Memory)), p.Major, p.Minor))
	}
	return strings.Join(append(all, "the driver knows "+d.Version()), "; "), usable, nil
}
