// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"fmt"
	"strings"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/term"
)

// Usage divides the used slots of a device's swap areas, in bytes; its JSON is a part of status
// --json.
type Usage struct {
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
	// InZswap are pages that zswap holds in front of the device, uncompressed, and ZswapMemory what
	// they take there: by the device's share of all used slots, since the kernel tells no more.
	InZswap     uint64 `json:"in_zswap"`
	ZswapMemory uint64 `json:"zswap_memory"`
	// Saved is InSwap less the memory that device and zswap take; negative where they cost more.
	Saved int64 `json:"saved"`
}

// SwapUse is the kernel's figures on a device's swap areas, without the areas themselves. Sizes are
// in bytes.
type SwapUse struct {
	Slots  SlotsProcess // its pid is 0 for none
	Cached uint64       // pages of all areas that are in memory as well
	All    uint64       // used slots of all areas of the machine
	Total  uint64       // size of all areas of the machine
	Stored uint64       // of the ballast, on kernels that write pages of zeros
	Zswap  host.ZswapUse
}

// NewUsage returns the usage of a swap device; nil for other devices and without an answer.
func NewUsage(d Device) *Usage {
	swap := d.Swap()
	if swap == nil || d.Status == nil {
		return nil
	}
	u := &Usage{Ballast: min(d.SwapUse.Slots.Ballast, swap.Used)}
	programs := swap.Used - u.Ballast
	if d.SwapUse.All > 0 { // the kernel does not say which areas the copies are in
		share := float64(swap.Used) / float64(d.SwapUse.All)
		u.Copies = min(programs, uint64(float64(d.SwapUse.Cached)*share))
		u.InZswap = min(programs, uint64(float64(d.SwapUse.Zswap.Held)*share))
		u.ZswapMemory = uint64(float64(d.SwapUse.Zswap.Pool) * share)
	}
	u.InSwap = programs - u.Copies
	stored := d.Status.Memory.OrigDataSize
	headers := uint64(len(d.Swaps)) * pageSize // of the areas
	u.Freed = stored - min(stored, programs+d.SwapUse.Stored+headers)
	u.Saved = int64(u.InSwap) - int64(d.Memory().Taken) - int64(u.ZswapMemory)
	return u
}

// Memory is what a device takes of the machine's memory, in bytes: the sum and all of its parts.
// Every command prints it. Its JSON is a part of status --json.
type Memory struct {
	Taken     uint64 `json:"taken"`     // Store, Processes and Slots together
	Store     uint64 `json:"store"`     // stored pages with index, waste and reserve
	Processes uint64 `json:"processes"` // keeper and worker, without the store; 0 where it is unknown
	Slots     uint64 `json:"slots"`     // the process that holds ballast; 0 for none
}

// Memory returns the memory that a device takes; nothing for one that does not answer.
func (d Device) Memory() Memory {
	if d.Status == nil {
		return Memory{}
	}
	m := Memory{Store: d.Status.Memory.MemUsedTotal, Processes: d.Status.ProcessMemoryBytes, Slots: d.SwapUse.Slots.Memory}
	m.Taken = m.Store + m.Processes + m.Slots
	return m
}

// Words is the sum with its parts.
func (m Memory) Words() string {
	parts := []string{term.Size(m.Store) + " store"}
	for _, p := range []struct {
		n    uint64
		name string
	}{{m.Processes, " processes"}, {m.Slots, " slots"}} {
		if p.n > 0 {
			parts = append(parts, term.Size(p.n)+p.name)
		}
	}
	return fmt.Sprintf("%s taken: %s", term.Size(m.Taken), strings.Join(parts, " + "))
}

// ReadSwapUse reads what NewUsage needs of a device that is used as swap.
func ReadSwapUse(m host.Root, d Device) SwapUse {
	var use SwapUse
	use.Slots = d.FindSlots()
	if len(d.Swaps) == 0 {
		return use
	}
	if ballast.WritesZeros() {
		use.Stored = use.Slots.Ballast
	}
	all := m.SwapUse()
	use.Cached, use.Total, use.All = all.Cached, all.Total, all.Used
	use.Zswap = m.ZswapUse()
	return use
}

// Used returns the bytes of programs in the swap areas, without the ballast.
func (d Device) Used() uint64 {
	used := UsedIn(d.Swaps)
	return used - min(used, d.SwapUse.Slots.Ballast)
}

// Words is the line "in swap" of status.
func (u Usage) Words(size uint64) string {
	words := []string{fmt.Sprintf("%s of %s by programs", term.Size(u.InSwap), term.Size(size))}
	if u.Copies > 0 {
		words = append(words, term.Size(u.Copies)+" copies of pages that are in memory too")
	}
	if u.Freed > 0 {
		words = append(words, term.Size(u.Freed)+" freed by programs and not yet returned by the kernel")
	}
	return strings.Join(words, ", ")
}

// ZswapWords is the line "zswap" of status; empty where it holds nothing and did nothing.
func (u Usage) ZswapWords(z host.ZswapUse) string {
	if z.Stores == 0 {
		return ""
	}
	return fmt.Sprintf("%s of pages in %s; since boot %d faults answered, %d pages written back", term.Size(u.InZswap), term.Size(u.ZswapMemory), z.Loads, z.WrittenBack)
}

// SavedWords is the line "saved".
func (u Usage) SavedWords() string {
	if u.Saved < 0 {
		return fmt.Sprintf("nothing yet: the device takes %s more than it holds", term.Size(uint64(-u.Saved)))
	}
	return fmt.Sprintf("%s: what programs have in swap, less the memory taken", term.Size(uint64(u.Saved)))
}

// SlotsWords says what the kernel does with slots now, and why.
func (u SwapUse) SlotsWords() string {
	p := u.Slots
	why := ""
	if p.Policy != "" {
		why = fmt.Sprintf(" (%s)", p.Policy)
	}
	freed := "freed when a page is read back" + why
	switch {
	case p.Ballast > 0 && 2*u.All > u.Total:
		return fmt.Sprintf("%s: process %d holds %s of swap, which make way for programs", freed, p.PID, term.Size(p.Ballast))
	case 2*u.All > u.Total:
		return freed + ": half of all swap is in use"
	case p.Policy == ballast.Free || p.Policy == ballast.Auto && p.PID == 0:
		return "kept" + why + ": " + p.hindrance()
	}
	return "kept until half of all swap is in use" + why
}
