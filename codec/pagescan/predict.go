// SPDX-License-Identifier: Apache-2.0

package pagescan

// The tables of a predictor: one for each pair of features in fine steps, one for all four in
// coarse steps, and one for what became of the page before.
const (
	pairTables = 6
	tables     = pairTables + 2
	tableSize  = 256

	fineShift   = 5 // 512 bytes in 16 steps
	fineMost    = 15
	coarseShift = 2 // 16 steps in 4
)

// The learning of a predictor. Sizes are in units of 1/8 byte.
const (
	unitShift   = 3
	entryShift  = 5 // an entry takes 1/32 of an error: all together a quarter
	entryLimit  = 1<<15 - 1
	historySize = 64
	sizeShift   = 7 // history tells sizes apart in steps of 128 bytes
)

// The codecs of a predictor.
const (
	fast = iota
	dense
)

// A predictor estimates what two codecs make of a page, each as a typical size and a sum of
// corrections that the page's features select from tables. It starts knowing only the typical sizes
// and learns from each page that one of the codecs has compressed: weights fitted to some programs
// turned out to be worth little on others. It computes in integers, and the same pages in the same
// order give the same estimates. It is not safe for concurrent use.
type predictor struct {
	entries [tables][tableSize][2]int16 // in 1/8 byte, by codec
	typical [2]int32                    // in 1/8 byte, by codec; immutable
	history uint8                       // the entry of the last table to use
}

// places is which entry of each table a page selects.
type places [tables]uint8

// locate returns the entries for a page with features f that comes next.
func (p *predictor) locate(f Features) places {
	high, zero, far, near := fine(f.High), fine(f.Zero), fine(f.Same24), fine(f.Same16)
	return places{
		high<<4 | zero, high<<4 | far, high<<4 | near, zero<<4 | far, zero<<4 | near, far<<4 | near,
		coarse(high)<<6 | coarse(zero)<<4 | coarse(far)<<2 | coarse(near),
		p.history,
	}
}

// fine returns the step of a count, 0 to 15. The last holds one count more than the others, that of
// all bytes.
func fine(count uint16) uint8 { return uint8(min(count>>fineShift, fineMost)) }

// coarse returns the step of four that a fine one lies in.
func coarse(step uint8) uint8 { return step >> coarseShift }

// sizes returns the estimates in units of 1/8 byte, by codec.
func (p *predictor) sizes(at *places) (ofFast, ofDense int32) {
	ofFast, ofDense = p.typical[fast], p.typical[dense]
	for t, i := range at {
		e := &p.entries[t][i]
		ofFast += int32(e[fast])
		ofDense += int32(e[dense])
	}
	return ofFast, ofDense
}

// learn corrects what led to the estimate of one codec for the page at these places, which was
// estimate and should have been size bytes.
func (p *predictor) learn(at *places, codec int, estimate int32, size int) {
	miss := int32(size)<<unitShift - estimate
	step := miss >> entryShift
	for t, i := range at {
		e := &p.entries[t][i][codec&1]
		*e = int16(max(-entryLimit, min(entryLimit, int32(*e)+step)))
	}
	p.history = uint8(min(size>>sizeShift, historySize/2-1) + codec*historySize/2)
}
