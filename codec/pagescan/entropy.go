// SPDX-License-Identifier: Apache-2.0

package pagescan

import "math"

// tableCounts is the largest byte count that countLog covers: a whole page of one value.
const tableCounts = 4096

// countLog holds c*log2(c) for each count c that a page can have, so that a page costs 256 loads
// and no logarithm. It is filled once at start and never written again.
var countLog = makeCountLog()

func makeCountLog() *[tableCounts + 1]float64 {
	table := new([tableCounts + 1]float64)
	for c := 1; c <= tableCounts; c++ {
		table[c] = float64(c) * math.Log2(float64(c))
	}
	return table
}

// Entropy returns the Shannon entropy of the bytes of page, over the whole page and not a sample,
// in bits a byte: 0 for a page of one value or an empty page, 8 for one in which all 256 values are
// equally frequent. It sees how often each value occurs and nothing of their order.
func Entropy(page []byte) float64 {
	if len(page) == 0 {
		return 0
	}
	counts := histogram(page)
	// With n bytes, sum(c/n * log2(n/c)) = log2(n) - sum(c*log2(c))/n.
	var sum float64
	for _, c := range counts {
		if c <= tableCounts {
			sum += countLog[c]
		} else {
			sum += float64(c) * math.Log2(float64(c))
		}
	}
	n := float64(len(page))
	return max(0, math.Log2(n)-sum/n)
}

// histogram counts the values of page. Four tables are counted in turn: with one, equal neighbours,
// which pages are full of, would make each increment wait for the store of the one before.
func histogram(page []byte) [256]uint32 {
	var a, b, c, d [256]uint32
	rest := page
	for len(rest) >= 4 {
		a[rest[0]]++
		b[rest[1]]++
		c[rest[2]]++
		d[rest[3]]++
		rest = rest[4:]
	}
	for _, v := range rest {
		a[v]++
	}
	for i := range a {
		a[i] += b[i] + c[i] + d[i]
	}
	return a
}
