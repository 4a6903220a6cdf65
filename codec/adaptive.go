// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"github.com/zramfs/zramfs/codec/page"
	"github.com/zramfs/zramfs/codec/pagescan"
)

// MaxEffort is the highest level of effort that [Adjustable] knows.
const MaxEffort = pagescan.Levels - 1

// An Adjustable is a [Compressor] that takes more or less time over a page, as its owner has time.
// The algorithm adaptive makes one.
type Adjustable interface {
	Compressor
	// SetEffort says how much time there is for the pages from the next one on. At level 0 all
	// pages go to the fastest codec, at MaxEffort, the default, all to the densest. In between the
	// densest gets the share of the pages that [pagescan.Shares] says: those on which it is
	// expected to save most. Which codec a page goes to then depends on the pages before it; the
	// object that a codec makes of it does not. A level outside 0 to MaxEffort stands for the
	// nearest. The call takes nanoseconds, so it may come before each page. The compressor's worker
	// makes it.
	SetEffort(level int)
}

// The sizes that the two codecs give a typical page, in bytes, until the chooser has learnt better:
// from real pages of nine programs.
const (
	typicalPage  = 945
	typicalDense = 790
)

// adaptive divides the pages between the two levels of our own format: no other codec here is on
// the frontier of bytes and time. LZ4 is faster by less than it is larger, and zstd at its fast
// levels is larger than the dense level and slower.
type adaptive struct {
	fast    *page.Encoder      // one worker's
	dense   *page.DenseEncoder // one worker's
	chooser *pagescan.Chooser  // one worker's
	effort  int                // 0 to MaxEffort
}

func newAdaptive(Algorithm) (Compressor, error) {
	return &adaptive{
		fast: new(page.Encoder), dense: new(page.DenseEncoder),
		chooser: pagescan.NewChooser(typicalPage, typicalDense), effort: MaxEffort,
	}, nil
}

func (c *adaptive) SetEffort(level int) { c.effort = max(0, min(MaxEffort, level)) }

// Compress leaves the chooser out where there is nothing to choose. It would cost time, and
// learning from one codec without the other would teach it to mistake small pages for gainful ones.
func (c *adaptive) Compress(dst, page []byte) (ID, int, error) {
	if err := checkBuffers(dst, page); err != nil {
		return None, 0, err
	}
	dst = dst[:maxObject]
	if c.effort == 0 || c.effort == MaxEffort {
		return c.by(c.effort != 0, dst, page)
	}
	toDense := c.chooser.Choose(pagescan.Scan(page), c.effort)
	id, n, err := c.by(toDense, dst, page)
	if err == nil {
		c.chooser.Learn(toDense, n)
	}
	return id, n, err
}

// by compresses by one of the two codecs. A page that does not fit then stays raw: to try the other
// one as well would take twice as long for all that cannot be compressed.
func (c *adaptive) by(toDense bool, dst, page []byte) (ID, int, error) {
	if toDense {
		return try(c.dense, PageDense, dst, page)
	}
	return try(c.fast, Page, dst, page)
}
