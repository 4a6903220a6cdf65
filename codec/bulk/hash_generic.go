// SPDX-License-Identifier: Apache-2.0

package bulk

import "encoding/binary"

// hashGeneric is [Hash].
func hashGeneric(data []byte) uint64 {
	var last [rowBytes]byte
	return endHash(sumGeneric(inRows(data, &last)), len(data))
}

// sumGeneric returns the sum of the lanes' hashes of rows and of the last one, unless that is nil.
// The functions in assembly give the same answer.
func sumGeneric(rows []byte, last *[rowBytes]byte) (sum uint64) {
	var lanes [hashLanes]uint64
	for lane := range lanes {
		lanes[lane] = uint64(lane+1) * hashSeed
	}
	addRows(&lanes, rows)
	if last != nil {
		addRows(&lanes, last[:])
	}
	for _, h := range lanes {
		sum += hashWord(hashWord(h, 0), 0)
	}
	return sum
}

// addRows goes over memory from its beginning to its end, since a processor fetches ahead then.
func addRows(lanes *[hashLanes]uint64, rows []byte) {
	for len(rows) >= rowBytes {
		for lane := range lanes {
			h := hashWord(lanes[lane], binary.LittleEndian.Uint64(rows[lane*laneBytes:]))
			lanes[lane] = hashWord(h, binary.LittleEndian.Uint64(rows[lane*laneBytes+8:]))
		}
		rows = rows[rowBytes:]
	}
}
