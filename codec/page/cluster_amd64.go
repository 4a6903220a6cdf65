// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package page

func decodeClusterAVX2(text *clusterText, n int, s streams, differences bool) bool {
	mask := uint64(0)
	if differences {
		mask = ^uint64(0)
	}
	return decodeClusterTokensAVX2(text[clusterMargin:clusterMargin+n], s.literals, s.distances, s.tokens, clusterVectors, mask)
}

// decodeClusterTokensAVX2 works like decodeClusterGeneric, with the mask of what is added to
// literals. It reads 32 bytes before dst and writes up to 64 behind it.
//
//go:noescape
func decodeClusterTokensAVX2(dst, literals, distances, tokens []byte, tables *clusterTables, mask uint64) bool

// clusterTables is what the assembly for clusters looks up. Package codec/_asm/page knows
// where its fields lie.
type clusterTables struct {
	vectorTables
	references [runUnit]uint8 // of short distances
}

// clusterVectors is immutable once made.
var clusterVectors = func() *clusterTables {
	c := &clusterTables{*vectors, shortReferences}
	for i, t := range clusterTokens {
		c.tokens[i] = tokenEntry{t.literals, t.length, uint16(t.kind) * 64}
	}
	c.kinds[far].extra = 0
	return c
}()
