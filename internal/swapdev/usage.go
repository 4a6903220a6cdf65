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
	// InZswap is the part of InSwap that zswap holds in front of the device: by the device's share
	// of all used slots, since the kernel counts zswap for all areas together.
	InZswap uint64 `json:"in_zswap"`
	// Saved is InSwap less the memory taken, that of zswap included; negative where that is more.
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
	u.Copies = min(programs, d.share(d.SwapUse.Cached))
	u.InSwap = programs - u.Copies
	u.InZswap = min(u.InSwap, d.share(d.SwapUse.Zswap.Held))
	stored := d.Status.Memory.OrigDataSize
	headers := uint64(len(d.Swaps)) * pageSize // of the areas
	// The store has nothing for a page in zswap. At least these are of the device, whatever the
	// other areas hold.
	others := d.SwapUse.All - min(d.SwapUse.All, swap.Used)
	own := min(programs, d.SwapUse.Zswap.Held-min(d.SwapUse.Zswap.Held, others))
	u.Freed = stored - min(stored, programs-own+d.SwapUse.Stored+headers)
	u.Saved = int64(u.InSwap) - int64(d.Memory().Taken)
	return u
}

// share is the device's part of what the kernel counts for all swap areas together, by used slots.
func (d Device) share(n uint64) uint64 {
	swap := d.Swap()
	if swap == nil || d.SwapUse.All == 0 {
		return 0
	}
	return min(n, uint64(float64(n)*float64(swap.Used)/float64(d.SwapUse.All)))
}

// Memory is what a device takes of the machine's memory, in bytes, and zswap for pages of its swap
// areas: the sum and all of its parts.
// Every command prints it. Its JSON is a part of status --json.
type Memory struct {
	Taken     uint64 `json:"taken"`     // all of the others together
	Store     uint64 `json:"store"`     // stored pages with index, waste and reserve
	Processes uint64 `json:"processes"` // keeper and worker, without the store; 0 where it is unknown
	Slots     uint64 `json:"slots"`     // the process that holds ballast; 0 for none
	Zswap     uint64 `json:"zswap"`     // pages in zswap with the kernel's entries, by the device's share of all used slots
}

// Memory returns the memory that a device takes; nothing for one that does not answer.
func (d Device) Memory() Memory {
	if d.Status == nil {
		return Memory{}
	}
	m := Memory{Store: d.Status.Memory.MemUsedTotal, Processes: d.Status.ProcessMemoryBytes, Slots: d.SwapUse.Slots.Memory,
		Zswap: d.share(d.SwapUse.Zswap.Memory())}
	m.Taken = m.Store + m.Processes + m.Slots + m.Zswap
	return m
}

// Words is the sum with its parts.
func (m Memory) Words() string {
	parts := []string{term.Size(m.Store) + " store"}
	for _, p := range []struct {
		n    uint64
		name string
	}{{m.Processes, " processes"}, {m.Slots, " slots"}, {m.Zswap, " zswap"}} {
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

// ZswapWords is the line "zswap" of status: of a swap device, where zswap has taken pages.
func (d Device) ZswapWords() string {
	u, z := NewUsage(d), d.SwapUse.Zswap
	if u == nil || z.Stores == 0 {
		return ""
	}
	return fmt.Sprintf("%s; since boot %s faults answered, %s pages written back",
		TierWords(d.Memory().Zswap, u.InZswap), term.Grouped(z.Loads), term.Grouped(z.WrittenBack))
}

// Ratio is the pages for each byte of memory, in bytes; 0 below the least data for which it means
// something.
func Ratio(pages, memory uint64) float64 {
	if pages < 1<<20 || memory == 0 {
		return 0
	}
	return float64(pages) / float64(memory)
}

// TierWords is the memory of zswap or of the store, and the pages in it.
func TierWords(memory, pages uint64) string {
	text := term.Size(memory) + " for " + term.Size(pages)
	if r := Ratio(pages, memory); r > 0 {
		text += ", ratio " + term.Ratio(r)
	}
	return text
}

// SavedWords is the line "saved".
func (u Usage) SavedWords() string {
	if u.Saved < 0 {
		return fmt.Sprintf("nothing yet: it takes %s more than it holds", term.Size(uint64(-u.Saved)))
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
