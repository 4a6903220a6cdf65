// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"slices"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/uprecord"
)

// startSlots starts the process that makes the kernel free slots of these areas, and adds it to the
// record. It ends with the keeper, a PID of this namespace.
func startSlots(m host.Root, rec *uprecord.Record, policy ballast.Policy, keeper int, areas []string) error {
	pid, err := launchSlots(ballast.Config{Policy: policy, Keeper: keeper, Areas: areas})
	if err != nil {
		return err
	}
	rec.Slots = &uprecord.Slots{Policy: policy, PID: pid}
	if p, ok := host.Local.Process(pid); ok {
		rec.Slots.Started = p.Start
	}
	return recordSlots(m, rec)
}

// recordSlots writes the process in rec to the device's record, and ends the process that another
// command has started and written there at the same time. A process without a record ends too:
// down would take its ballast for pages of programs.
func recordSlots(m host.Root, rec *uprecord.Record) error {
	before, err := noteSlots(m, rec)
	superfluous := Device{Record: &uprecord.Record{Slots: before}}
	if err != nil {
		superfluous.Record.Slots = rec.Slots
	}
	return errors.Join(err, endSlots(superfluous.FindSlots()))
}

// noteSlots writes the process in rec to the device's record, and returns the one that was there.
// An up of another device may have changed the parameters in the record since rec was read, so
// those of the file stay; and a record that is gone, since the device has ended, stays gone.
func noteSlots(m host.Root, rec *uprecord.Record) (before *uprecord.Slots, err error) {
	defer uprecord.Lock(m)()
	if rec.File != "" {
		all := uprecord.Read(m)
		i := slices.IndexFunc(all, func(r uprecord.Record) bool { return r.File == rec.File })
		if i < 0 {
			return nil, nil
		}
		if all[i].Err != nil {
			return nil, all[i].Err
		}
		rec.Tuned, before = all[i].Tuned, all[i].Slots
	}
	return before, rec.Write(m)
}

// ReviveSlots restarts the ended process of d, for example after the OOM killer.
func ReviveSlots(d Device) error {
	if p := d.FindSlots(); p.Policy == "" || p.Policy == ballast.Keep || p.PID != 0 || len(d.Swaps) == 0 || d.Keeper == 0 {
		return nil
	}
	return startSlots(host.Local, d.Record, d.Record.Slots.Policy, d.Keeper, areasWith(d))
}

// areasWith returns the loop devices of d and of the extra devices of its directory.
func areasWith(d Device) []string {
	areas := LoopPaths(d.Loops)
	further, _ := FindExtra(d) // without them the ballast is smaller
	for _, f := range further {
		areas = append(areas, LoopPaths(f.Loops)...)
	}
	return areas
}
