// SPDX-License-Identifier: Apache-2.0

package estimate

import "github.com/zramfs/zramfs/internal/term"

// A Class is what the size of a device follows where none is given.
type Class struct {
	Name string // Small, Medium or Large
	Size uint64 // of the device, in bytes
}

// The names of classes.
const (
	Small  = "small"  // half of its memory
	Medium = "medium" // 4 GiB
	Large  = "large"  // an eighth of its memory
)

const (
	// mediumFrom is twice mediumSize: so small and medium machines have the rule of zram-generator,
	// min(ram / 2, 4096), which users of compressed swap expect.
	mediumFrom = 2 * mediumSize
	mediumSize = 4 << 30
	// largeFrom lies between machines of 64 GB, which are medium in the specification, and of
	// 128 GB, which are high: the kernel keeps some per cent of either for itself. 4 GiB would be a
	// thirtieth of the latter.
	largeFrom = 96 << 30
	// largeShare is what 4 GiB are of 32 GiB, among the medium ones. More would only delay the OOM
	// killer, by the minutes that it takes to fill.
	largeShare = 8
)

// ClassOf returns the class of a machine with ram bytes of memory.
//
// The size is that of both tiers, since a page in zswap holds a slot of the device too. It is the
// same without zswap: it bounds what programs can have in swap, and so what is taken when nothing
// compresses, in whichever tier that lies. Nor does a GPU change it: bulk work uses one, in any
// class, where there are pages enough for it.
func ClassOf(ram uint64) Class {
	switch {
	case ram < mediumFrom:
		return Class{Small, term.RoundToPages(ram / 2)}
	case ram < largeFrom:
		return Class{Medium, mediumSize}
	}
	return Class{Large, term.RoundToPages(ram / largeShare)}
}
