// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"fmt"
	"math"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/zswap"
)

// The rules of the advice.
const (
	limitMargin  = 1.1      // of the limit over what is expected at the low end of the ratio's interval: contents change
	ramShare     = 2        // the limit is at most this part of RAM: what is in use must fit into the rest
	poorRatio    = 1.5      // below it, swapping saves less than a third
	minAdvised   = 64 << 20 // the smallest device
	roundGranule = 16       // sizes are rounded up to the power of two between 1/16 and 1/8 of them
)

// Advice is the advised device, with the three sizes that are easily confused. All in bytes.
type Advice struct {
	Algorithm string `json:"algorithm"`      // its algorithm
	Size      uint64 `json:"size"`           // virtual: what free and swapon show; it takes no memory by itself
	Expected  uint64 `json:"expected"`       // memory taken when it is full, at the measured ratio
	MemLimit  uint64 `json:"mem_limit"`      // the worst case: the most that it may take
	Unlimited uint64 `json:"unlimited"`      // the worst case without that limit: nothing compresses
	Bounded   bool   `json:"bounded_by_ram"` // whether RAM bounds the size
	Poor      bool   `json:"poor"`           // little would be saved
	Command   string `json:"command"`        // the command that makes it
	Tiers     Tiers  `json:"with_zswap"`     // the device full, with zswap in front of it; zeros where RAM is unknown
	Bare      Bare   `json:"bare"`           // the device of an up without flags
}

// Tiers is the most that zswap holds of a full device at its default share of RAM, in bytes.
type Tiers struct {
	InZswap uint64 `json:"in_zswap"` // pages, uncompressed
	Zswap   uint64 `json:"zswap"`    // memory that they take
	Store   uint64 `json:"store"`    // memory of the other pages, in the store
}

// Bare is the device of an up without flags. Sizes are in bytes.
type Bare struct {
	Class    string `json:"class"`    // of the machine, which the size follows: small, medium or large
	Size     uint64 `json:"size"`     // its size
	Expected uint64 `json:"expected"` // memory taken when it is full, at the ratio of the advised algorithm
	Worst    uint64 `json:"worst"`    // nothing compresses: it has no limit
}

// advise returns a device that holds everything sampled and what its owners have in swap already. A
// page takes hot bytes in zswap.
func advise(r Algorithm, hot float64, s Sample, ram uint64) Advice {
	a := Advice{Algorithm: r.Algorithm, Poor: r.Ratio < poorRatio}
	perByte := limitMargin / r.Low // of limit for one of size
	a.Size = roundNicely(max(uint64(s.Total+s.Swapped), minAdvised))
	a.MemLimit = roundNicely(uint64(math.Ceil(float64(a.Size) * perByte)))
	if most := term.RoundToPages(ram / ramShare); ram > 0 && a.MemLimit > most {
		a.Bounded = true
		a.MemLimit = most &^ (1<<20 - 1)
		a.Size = min(a.Size, roundDown(uint64(float64(a.MemLimit)/perByte)))
	}
	a.Unlimited, a.Expected = worst(a.Size), expected(a.Size, r.Ratio)
	if ram > 0 {
		a.Tiers.InZswap = min(a.Size, uint64(float64(ram)*zswap.DefaultShare/100/hot)*pageSize)
		a.Tiers.Zswap = uint64(float64(a.Tiers.InZswap/pageSize) * hot)
		a.Tiers.Store = expected(a.Size-a.Tiers.InZswap, r.Ratio)
	}
	class := ClassOf(ram)
	a.Bare = Bare{Class: class.Name, Size: class.Size, Expected: expected(class.Size, r.Ratio), Worst: worst(class.Size)}
	a.MemLimit = min(a.MemLimit, roundUpTo(a.Unlimited, 1<<20))
	a.Command = fmt.Sprintf("zramfs up --size %s --mem-limit %s", flagBytes(a.Size), flagBytes(a.MemLimit))
	if r.Algorithm != codec.Algorithms()[0] { // the default
		a.Command += " --algorithm " + term.ShellWord(r.Algorithm)
	}
	return a
}

// worst is the memory of a device of that size full of pages that do not compress.
func worst(size uint64) uint64 { return size / pageSize * uint64(PageCost(pageSize)) }

// expected is the memory of a full device at that ratio.
func expected(size uint64, ratio float64) uint64 {
	return min(uint64(math.Ceil(float64(size)/ratio)), worst(size))
}

// granule is the step in which a size of about n bytes is advised.
func granule(n uint64) uint64 {
	step := uint64(1 << 20)
	for step*roundGranule < n {
		step *= 2
	}
	return step
}

func roundNicely(n uint64) uint64 { return roundUpTo(n, granule(n)) }

// roundDown keeps at least the smallest size that up can work with.
func roundDown(n uint64) uint64 {
	step := granule(n)
	return max(n/step*step, 1<<20)
}

func roundUpTo(n, step uint64) uint64 { return (n + step - 1) / step * step }

// flagBytes writes whole mebibytes as a flag takes them, without loss.
func flagBytes(n uint64) string {
	if n%(1<<30) == 0 {
		return fmt.Sprintf("%dG", n>>30)
	}
	return fmt.Sprintf("%dM", n>>20)
}
