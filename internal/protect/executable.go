// SPDX-License-Identifier: Apache-2.0

package protect

import "github.com/zramfs/zramfs/internal/host"

// zeroDataLimit bounds the part of a program's zero-initialised data that is populated, in bytes.
// The program uses 256 KiB of it. The linker sorts variables by size, so the unused large ones come
// last, such as 32 MiB of crypto/internal/fips140/drbg.
const zeroDataLimit = 320 << 10

// executableRegions returns the mappings of the program at path: those of its file, and the first
// of the zero-initialised data that the loader put behind them.
func executableRegions(all []host.Region, path string) []host.Region {
	var own []host.Region
	end := uint64(0)
	for _, r := range all {
		switch {
		case r.Path == path:
			end = r.End
		case r.Path == "" && r.Start == end:
			r.End = min(r.End, r.Start+zeroDataLimit)
		default:
			continue
		}
		if r.Accessible() {
			own = append(own, r)
		}
	}
	return own
}
