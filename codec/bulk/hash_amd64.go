// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package bulk

import "github.com/zramfs/zramfs/codec/internal/impl"

var hashTable = impl.Table[hashFunc]{
	{Set: impl.AVX2, F: hashAVX2},
	{Set: impl.Generic, F: hashGeneric},
}

// hashAVX2 works like hashGeneric.
func hashAVX2(data []byte) uint64 {
	var last [rowBytes]byte
	return endHash(sumAVX2(inRows(data, &last)), len(data))
}

// sumAVX2 works like sumGeneric.
//
//go:noescape
func sumAVX2(rows []byte, last *[rowBytes]byte) uint64
