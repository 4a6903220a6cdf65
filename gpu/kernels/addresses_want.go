// SPDX-License-Identifier: Apache-2.0

package kernels

// This file computes, in Go, the words that the address cases must write.

// placed has each thread write its number to the word at an offset that comes from the other
// thread's.
func placed(in []uint32, offset func(thread int, of uint32) uint32) []uint32 {
	out := make([]uint32, AddressWords)
	for i := range out {
		out[offset(i, in[i^otherThread])/4] = uint32(i)
	}
	return out
}

func scattered(in []uint32) []uint32 {
	return placed(in, func(_ int, of uint32) uint32 { return of })
}

func rotated(in []uint32) []uint32 {
	return placed(in, func(_ int, of uint32) uint32 { return (of + 4) % (4 * AddressWords) })
}

func parted(in []uint32) []uint32 {
	return placed(in, func(thread int, of uint32) uint32 { return of ^ uint32(thread&1*8) })
}

func copied(in []uint32) []uint32 { return in }

func overwritten(in []uint32) []uint32 { return scattered(in) }

func hashed(count int) func(in []uint32) []uint32 {
	return func(in []uint32) []uint32 {
		out := make([]uint32, AddressWords)
		for i := range out {
			hash := uint32(i)
			for k := count - 1; k >= 0; k-- {
				hash = hash*addressFactor + in[(i+k)%AddressWords]
			}
			out[in[i^otherThread]/4] = hash
		}
		return out
	}
}

// counted is what 32 lanes of each warp have added up.
func counted([]uint32) []uint32 {
	out := make([]uint32, AddressWords)
	out[10], out[11] = 32, 32
	return out
}

func elected(in []uint32) []uint32 {
	out := make([]uint32, AddressWords)
	out[in[0]/4], out[in[1]/4] = 1, 2
	return out
}
