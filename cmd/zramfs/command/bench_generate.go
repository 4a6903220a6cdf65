// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// generatedSource names generated pages in a report.
const generatedSource = "generated memory"

// generatedSample returns pages that are the same on every machine and imitate the kinds of memory
// that codecs meet. Tests have pages of their own, which come with what tests need; these only have
// to be there without a file or a process.
func generatedSample(limit int) pageSample {
	count := min(limit, benchPages/8) // 8 MiB repeat nothing that a codec could remember
	s := pageSample{pages: make([]byte, count*pageSize), total: int64(count), source: generatedSource}
	kinds := []func([]byte, *rand.Rand){objects, objects, objects, text, text, text, counters, counters, floats, noise}
	for i := range count {
		kinds[i%len(kinds)](s.pages[i*pageSize:(i+1)*pageSize], rand.New(rand.NewPCG(uint64(i), 0x7a72616d)))
	}
	return s
}

// objects is a heap: a type, pointers into one region, nothing and small numbers.
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

// floats is measurements, of which the low bits are noise.
func floats(page []byte, rng *rand.Rand) {
	for at := 0; at < pageSize; at += 8 {
		binary.LittleEndian.PutUint64(page[at:], math.Float64bits(20+rng.NormFloat64()))
	}
}

// noise is what is compressed or encrypted already.
func noise(page []byte, rng *rand.Rand) {
	for at := 0; at < pageSize; at += 8 {
		binary.LittleEndian.PutUint64(page[at:], rng.Uint64())
	}
}
