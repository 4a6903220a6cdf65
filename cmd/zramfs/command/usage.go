// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/slots"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
)

// usage divides the used slots of a device's swap areas, in bytes; its JSON is a part of status
// --json.
type usage struct {
	// InSwap is the memory of programs in swap and not in memory.
	InSwap uint64 `json:"in_swap"`
	// Copies are pages that are in memory too: the kernel keeps the slot of a page that it has read
	// back until half of all swap is in use; see package slots.
	Copies uint64 `json:"copies"`
	// Freed is stored in slots that the kernel has freed and neither reused nor discarded yet. It
	// may be more: the kernel does not say which used slots are pages of zeros, which take no
	// space.
	Freed uint64 `json:"freed_not_returned"`
	// Ballast are slots that make the kernel free others.
	Ballast uint64 `json:"ballast"`
	// Saved is InSwap less the memory of the store and the processes; negative for a device that
	// costs more.
	Saved int64 `json:"saved"`
}

// swapUse is the kernel's figures on a device's swap areas, without the areas themselves. Sizes are
// in bytes.
type swapUse struct {
	slots  slotsProcess // its pid is 0 for none
	cached uint64       // pages of all areas that are in memory as well
	all    uint64       // used slots of all areas of the machine
	total  uint64       // size of all areas of the machine
	stored uint64       // of the ballast, on kernels that write pages of zeros
}

// newUsage returns the usage of a swap device; nil for other devices and without an answer.
func newUsage(d device) *usage {
	swap := d.swap()
	if swap == nil || d.Status == nil {
		return nil
	}
	u := &usage{Ballast: min(d.swapUse.slots.ballast, swap.Used)}
	programs := swap.Used - u.Ballast
	if d.swapUse.all > 0 { // the kernel does not say which areas the copies are in
		u.Copies = min(programs, uint64(float64(d.swapUse.cached)*float64(swap.Used)/float64(d.swapUse.all)))
	}
	u.InSwap = programs - u.Copies
	stored := d.Status.Memory.OrigDataSize
	headers := uint64(len(d.Swaps)) * pageSize // of the areas
	u.Freed = stored - min(stored, programs+d.swapUse.stored+headers)
	u.Saved = int64(u.InSwap) - int64(d.Status.Memory.MemUsedTotal+d.Status.ProcessMemoryBytes+d.swapUse.slots.memory)
	return u
}

// readSwapUse reads what newUsage needs of a device that is used as swap.
func readSwapUse(m host.Root, d device) swapUse {
	var use swapUse
	use.slots = d.findSlots()
	if len(d.Swaps) == 0 {
		return use
	}
	if slots.WritesZeros() {
		use.stored = use.slots.ballast
	}
	all := m.SwapUse()
	use.cached, use.total, use.all = all.Cached, all.Total, all.Used
	return use
}

// used returns the bytes of programs in the swap areas, without the ballast.
func (d device) used() uint64 {
	used := usedIn(d.Swaps)
	return used - min(used, d.swapUse.slots.ballast)
}

// words is the line "in swap" of status.
func (u usage) words(size uint64) string {
	words := []string{fmt.Sprintf("%s of %s by programs", term.Size(u.InSwap), term.Size(size))}
	if u.Copies > 0 {
		words = append(words, term.Size(u.Copies)+" copies of pages that are in memory too")
	}
	if u.Freed > 0 {
		words = append(words, term.Size(u.Freed)+" freed by programs and not yet returned by the kernel")
	}
	return strings.Join(words, ", ")
}

// savedWords is the line "saved".
func (u usage) savedWords() string {
	if u.Saved < 0 {
		return fmt.Sprintf("nothing yet: the device takes %s more than it holds", term.Size(uint64(-u.Saved)))
	}
	return fmt.Sprintf("%s: what programs have in swap, less the memory of store and processes", term.Size(uint64(u.Saved)))
}

// slotsWords says what the kernel does with slots now, and why.
func (u swapUse) slotsWords() string {
	p := u.slots
	why := ""
	if p.policy != "" {
		why = fmt.Sprintf(" (%s)", p.policy)
	}
	freed := "freed when a page is read back" + why
	switch {
	case p.ballast > 0 && 2*u.all > u.total:
		return fmt.Sprintf("%s: process %d holds %s of swap, which make way for programs", freed, p.pid, term.Size(p.ballast))
	case 2*u.all > u.total:
		return freed + ": half of all swap is in use"
	case p.policy == slots.Free || p.policy == slots.Auto && p.pid == 0:
		return "kept" + why + ": " + p.hindrance()
	}
	return "kept until half of all swap is in use" + why
}

// hindrance says why the kernel keeps slots against the policy.
func (p slotsProcess) hindrance() string {
	if p.pid == 0 {
		return "the process that held ballast has ended: zramfs up starts it again"
	}
	return "there is no ballast yet, or none is possible: swap below 512M, or much other swap"
}
