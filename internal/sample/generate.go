// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// GeneratedSource names generated pages in a report.
const GeneratedSource = "generated memory"

// generatedPages is the most pages that are generated: 8 MiB, more than a codec remembers.
const generatedPages = 2048

// Generate returns at most limit pages that imitate kinds of memory, the same on every machine.
// Tests use pages of internal/pages instead.
func Generate(limit int) Sample {
	count := min(limit, generatedPages)
	s := Sample{Pages: make([]byte, count*pageSize), Total: int64(count), Source: GeneratedSource}
	kinds := []func([]byte, *rand.Rand){objects, objects, objects, text, text, text, counters, counters, floats, noise}
	for i := range count {
		kinds[i%len(kinds)](s.Pages[i*pageSize:(i+1)*pageSize], rand.New(rand.NewPCG(uint64(i), 0x7a72616d)))
	}
	return s
}

// objects is a heap: types, pointers into one region, zeros and small numbers.
func objects(page []byte, rng *rand.Rand) {
	region := 0x7f00_0000_0000 | uint64(rng.Uint32())<<8
	for at := 0; at < pageSize; at += 8 {
		word := region + uint64(rng.IntN(1<<18))*16
		switch kind := rng.IntN(10); {
		case at%32 == 0:
			word = 0x5555_0000_0000 | uint64(rng.IntN(4))*64
		case kind < 4:
			word = 0
		case kind < 6:
			word = uint64(rng.IntN(100))
		}
		binary.LittleEndian.PutUint64(page[at:], word)
	}
}

// text is lines of words, the first of a list far more often than the last.
func text(page []byte, rng *rand.Rand) {
	const letters = "etaoinshrdlucmfwypvbgk"
	for at := 0; at < pageSize; {
		number := rng.IntN(200) * rng.IntN(200) / 200
		for i := range 2 + number%7 {
			if at < pageSize {
				page[at] = letters[(number*(i+3)+i*i)%len(letters)]
				at++
			}
		}
		if at < pageSize {
			page[at] = " \n"[rng.IntN(12)/11]
			at++
		}
	}
}

// counters is an array of 4-byte numbers, most of them small.
func counters(page []byte, rng *rand.Rand) {
	for at := 0; at < pageSize; at += 4 {
		if rng.IntN(3) == 0 {
			binary.LittleEndian.PutUint32(page[at:], uint32(rng.IntN(1000)))
		}
	}
}

// floats is measurements with noise in their low bits.
func floats(page []byte, rng *rand.Rand) {
	for at := 0; at < pageSize; at += 8 {
		binary.LittleEndian.PutUint64(page[at:], math.Float64bits(20+rng.NormFloat64()))
	}
}

// noise is compressed or encrypted data.
func noise(page []byte, rng *rand.Rand) {
	for at := 0; at < pageSize; at += 8 {
		binary.LittleEndian.PutUint64(page[at:], rng.Uint64())
	}
}
