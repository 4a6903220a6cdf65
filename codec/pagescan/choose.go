// SPDX-License-Identifier: Apache-2.0

package pagescan

// Shares holds, in 1/256, how large a share of pages each level of a [Chooser] sends to the denser
// codec. Level 0 sends none and the last one all.
var Shares = [Levels]int32{0, 8, 16, 32, 64, 96, 128, 256}

// Levels is how many levels there are.
const Levels = 8

const (
	// boundShift is how many bits of a bound are fraction. It sets how slowly bounds move: by half
	// a byte a page at most. Slow ones keep the share over many programs and take more of it where
	// more can be gained; faster ones keep it over each run of pages, and gain less.
	boundShift = 9
	// exploreOver of 256 pages that should go to the denser codec go to the faster one, and
	// share/exploreUnder of those that should not go to the denser one, so that what is known of
	// each codec does not grow old.
	exploreOver  = 4
	exploreUnder = 16
)

// A Chooser decides page by page whether a faster or a denser codec should have it, when the denser
// one can have a given share of the pages only: the pages on which it expects the denser one to
// save most. Learn teaches it what each codec makes of a page: it
// needs no training and follows changes of the pages. The same calls give the same answers on every
// machine. Make one with [NewChooser]. It takes 9 KiB, allocates nothing after that, and is not
// safe for concurrent use: each worker has its own.
type Chooser struct {
	predict predictor
	bounds  [Levels]int32 // gains in bytes times 2^boundShift that Shares of the pages exceed
	random  uint32        // state of a linear congruential generator

	// Of the page that Choose was asked about last.
	at    places
	sizes [2]int32
}

// NewChooser returns a chooser that knows of the two codecs only what they make of a typical page,
// in bytes, such as 1400 and 900 for LZ4 and zstd. Sizes outside 0 to [PageSize] stand for the
// nearest.
func NewChooser(ofFast, ofDense int) *Chooser {
	ofFast, ofDense = max(0, min(PageSize, ofFast)), max(0, min(PageSize, ofDense))
	c := &Chooser{random: 1}
	c.predict.typical[fast] = int32(ofFast) << unitShift
	c.predict.typical[dense] = int32(ofDense) << unitShift
	for i := range c.bounds {
		c.bounds[i] = int32(ofFast-ofDense) << boundShift
	}
	return c
}

// Choose reports whether the denser codec should have the page with these features, if it can have
// [Shares][level] of them all. A level outside 0 to [Levels]-1 stands for the nearest. All levels'
// bounds follow the pages whichever is asked for, so a new level holds from the next page on.
func (c *Chooser) Choose(f Features, level int) bool {
	level = max(0, min(Levels-1, level))
	c.at = c.predict.locate(f)
	c.sizes[fast], c.sizes[dense] = c.predict.sizes(&c.at)
	gain := (c.sizes[fast] - c.sizes[dense]) << (boundShift - unitShift)
	over := gain > c.bounds[level]
	c.follow(gain)
	// Bits 16 to 31 of the state: the lower ones have short periods.
	c.random = c.random*1664525 + 1013904223
	dice := int32(c.random >> 16)
	switch share := Shares[level]; {
	case share == 0 || share == 256:
		return share != 0
	case over:
		return dice>>8 >= exploreOver
	default:
		return dice < share*256/exploreUnder
	}
}

// follow moves each bound up if the page's gain exceeds it, and else down, by steps whose ratio
// makes it rest where its share of the pages exceeds it.
func (c *Chooser) follow(gain int32) {
	for i, share := range Shares {
		// One if the gain exceeds the bound, without a branch.
		exceeds := int32(uint32(c.bounds[i]-gain) >> 31)
		c.bounds[i] += exceeds<<8 - share
	}
}

// Learn tells what became of the page that [Chooser.Choose] was asked about last: which codec it
// went to and how many bytes that made of it, [PageSize] for a page that it could not compress. A
// page that neither codec has had must not be told of.
func (c *Chooser) Learn(toDense bool, size int) {
	codec := fast
	if toDense {
		codec = dense
	}
	c.predict.learn(&c.at, codec, c.sizes[codec], max(0, min(PageSize, size)))
}
