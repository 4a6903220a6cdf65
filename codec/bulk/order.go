// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/zramfs/zramfs/codec"
)

// maxEngines is how many engines a planner may have in addition to the CPU: a bit of a word for
// each.
const maxEngines = 64

// A class is a set of objects that the same engines can do.
type class struct{ engines uint64 } // a bit for each; immutable

// A classing maps codecs to classes, for one operation. Immutable once made.
type classing struct {
	classes []class    // those that the most engines can do first, the CPU's alone last
	of      [256]uint8 // the class of each codec.ID
}

// classify asks the engines which codecs they can do.
func classify(op Op, engines []*member) classing {
	var c classing
	var sets [256]uint64
	for id := range sets {
		for i, m := range engines {
			if m.Can(op, codec.ID(id)) {
				sets[id] |= 1 << i
			}
		}
		if one := (class{sets[id]}); !slices.Contains(c.classes, one) {
			c.classes = append(c.classes, one)
		}
	}
	slices.SortFunc(c.classes, func(a, b class) int {
		return cmp.Or(bits.OnesCount64(b.engines)-bits.OnesCount64(a.engines), cmp.Compare(a.engines, b.engines))
	})
	for id, set := range sets {
		c.of[id] = uint8(slices.Index(c.classes, class{set}))
	}
	return c
}

// An order is the sequence in which the items of a batch are queued.
type order struct {
	items    []uint32 // the one in use: a part of one of the others
	identity []uint32 // item i at position i
	sorted   []uint32 // by class
	counts   [257]int // items by class
}

// grow allocates arrays for n items.
func (o *order) grow(n int) {
	for i := len(o.identity); i < n; i++ {
		o.identity = append(o.identity, uint32(i))
	}
	if len(o.sorted) < n {
		o.sorted = make([]uint32, n)
	}
}

// plain queues the items in their own order.
func (o *order) plain(n int) {
	o.grow(n)
	o.items = o.identity[:n]
}

// sort queues the items by class, and within a class in their own order, and counts them.
func (o *order) sort(b *Batch, c *classing) {
	o.plain(b.N)
	clear(o.counts[:])
	if b.Op == Compress {
		o.counts[c.of[codec.None]] = b.N
		return
	}
	for _, id := range b.ID[:b.N] {
		o.counts[c.of[id]]++
	}
	var next [257]int
	at := 0
	for i := range c.classes {
		next[i] = at
		if at += o.counts[i]; o.counts[i] == b.N {
			return
		}
	}
	o.items = o.sorted[:b.N]
	for i, id := range b.ID[:b.N] {
		class := c.of[id]
		o.items[next[class]] = uint32(i)
		next[class]++
	}
}

// limit returns the position before which engine number i can do every item. For engines with
// disjoint codecs that is less than it could do.
func (o *order) limit(c *classing, i int) int {
	end := 0
	for k, class := range c.classes {
		if o.counts[k] > 0 && class.engines>>i&1 == 0 {
			break
		}
		end += o.counts[k]
	}
	return end
}
