// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"strconv"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/host"
)

// SlotsProcess is the process that holds the ballast of a device. Sizes are in bytes.
type SlotsProcess struct {
	Policy  ballast.Policy // empty if unknown
	PID     int            // 0 for none
	Ballast uint64         // of swap
	Memory  uint64         // of the process, page tables included
}

// FindSlots returns the process that holds the ballast of d.
func (d Device) FindSlots() SlotsProcess {
	switch {
	case d.Record == nil || d.Record.Err != nil:
		return SlotsProcess{} // only root may read records
	case d.Record.Slots == nil:
		return SlotsProcess{Policy: ballast.Keep}
	}
	p := SlotsProcess{Policy: d.Record.Slots.Policy}
	found, ok := d.Record.Slots.Process()
	if !ok {
		return p
	}
	use, _ := host.Local.Usage(strconv.Itoa(found.PID)) // zero for a process that ends
	p.PID, p.Ballast, p.Memory = found.PID, use.Swap, use.Anon+use.Tables
	return p
}

// hindrance says why the kernel keeps slots against the policy.
func (p SlotsProcess) hindrance() string {
	if p.PID == 0 {
		return "the process that held ballast has ended: zramfs up starts it again"
	}
	return "there is no ballast yet, or none is possible: swap below 512M, or much other swap"
}
