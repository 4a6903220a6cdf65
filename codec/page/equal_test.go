// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"fmt"
	"path"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
	"github.com/zramfs/zramfs/internal/require"
)

// F001 for this format: what any implementation makes of a page, another takes back.
func TestF001PageLossless(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		t.Parallel()
		c := comparisons[path.Base(t.Name())]
		c.once.Do(func() { c.run(t, base) })
		for set, err := range c.results {
			if err != nil {
				t.Errorf("%s: %v", set, err)
			}
		}
		if c.kept == 0 {
			t.Error("no page was compressed")
		}
	})
}

func TestF021AVX2EqualsGeneric(t *testing.T) { equalsGeneric(t, impl.AVX2) }

func TestF022AVX512EqualsGeneric(t *testing.T) { equalsGeneric(t, impl.AVX512) }

func TestF023NEONEqualsGeneric(t *testing.T) { equalsGeneric(t, impl.NEON) }

// equalsGeneric reports what became of a set in the comparison over the stream of pages, a million
// in all. Where nothing was written for set, what is taken in its place is reported.
func equalsGeneric(t *testing.T, set impl.Set) {
	require.Instructions(t, string(set), impl.Has(set))
	e, err := routinesTable.For(set)
	if err != nil {
		t.Fatal(err)
	}
	if e.Set != set {
		t.Logf("there is no code for %s: that for %s is taken", set, e.Set)
	}
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		t.Parallel()
		c := comparisons[path.Base(t.Name())]
		c.once.Do(func() { c.run(t, base) })
		if err, ok := c.results[e.Set]; !ok || err != nil {
			t.Errorf("compared: %v, and failed: %v", ok, err)
		}
	})
}

// comparisons holds those of each source. One serves the tests of all sets, since the generic
// encoder takes most of the time.
var comparisons = map[string]*comparison{"generated": {}, "real": {}}

// A comparison goes through the pages of one source, once, by all implementations.
type comparison struct {
	once    sync.Once
	results map[impl.Set]error // immutable after once: nil for a set that makes and reads what the generic implementation does
	kept    int                // how many pages had an object, immutable after once
}

func (c *comparison) run(t *testing.T, base [][]byte) {
	c.results = map[impl.Set]error{}
	all := pairs(t)
	for _, p := range all {
		c.results[p.set] = nil
	}
	page, object, want := make([]byte, Size), make([]byte, Size), make([]byte, Size)
	for i := range codectest.Rounds() / 2 {
		codectest.Derive(page, base, i)
		limit := Size
		if i%4 == 3 {
			limit = i % Size
		}
		m, err := all[len(all)-1].enc.Compress(want[:limit], page)
		if err != nil {
			for set := range c.results {
				c.results[set] = err
			}
			return
		}
		if m > 0 {
			c.kept++
		}
		for turn, p := range all {
			if c.results[p.set] == nil {
				c.results[p.set] = p.equals(page, object[:limit], want[:m], i, i%len(all) == turn)
			}
		}
	}
}

// equals compares what p makes of page number i with the generic encoder's object, and takes that
// back if it is its turn.
func (p pair) equals(page, object, want []byte, i int, turn bool) error {
	if p.set != impl.Generic {
		n, err := p.enc.Compress(object, page)
		if err != nil || !bytes.Equal(object[:n], want) {
			return fmt.Errorf("page %d, cap %d: %d bytes, and %d by the generic encoder, or other bytes: %v", i, len(object), n, len(want), err)
		}
	}
	if len(want) == 0 || !turn {
		return nil
	}
	var back [Size]byte
	if err := p.dec.Decompress(back[:], want); err != nil || !bytes.Equal(back[:], page) {
		return fmt.Errorf("page %d: did not come back: %v", i, err)
	}
	return nil
}

// F016 and F018: an encoder that has seen other pages gives the same object as one that has seen
// none.
func TestF016NoStateBetweenPages(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		eachPair(t, func(t *testing.T, used pair) {
			page := make([]byte, Size)
			for i := range codectest.Rounds() / 200 {
				codectest.Derive(page, base, i)
				if i%3 == 0 { // gives up and must leave nothing behind
					if _, err := used.enc.Compress(nil, base[(i+1)%len(base)]); err != nil {
						t.Fatal(err)
					}
				}
				fresh := newPair(t, used.set)
				if got, want := used.object(t, page), fresh.object(t, page); !bytes.Equal(got, want) {
					t.Fatalf("page %d: %d bytes from a used encoder, %d from a fresh one, or other bytes", i, len(got), len(want))
				}
			}
		})
	})
}

// An object does not depend on what lies around the page, nor on what dst held, nor on what the
// encoder's streams held.
func TestF018SameInputSameOutput(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		object, memory := make([]byte, Size), make([]byte, 3*Size)
		for i, page := range codectest.Generated()[:500] {
			want := p.object(t, page)
			for _, filler := range []byte{0, 0xFF, page[0], page[Size-1]} {
				fill(memory, filler)
				fill(object, filler)
				for _, stream := range [][]byte{p.enc.literalStream[:], p.enc.tokenStream[:], p.enc.nearStream[:], p.enc.farStream[:]} {
					fill(stream, filler)
				}
				n, err := p.enc.Compress(object, memory[Size:][:copy(memory[Size:], page)])
				if err != nil || !bytes.Equal(object[:n], want) {
					t.Fatalf("page %d: other bytes, or %v", i, err)
				}
			}
		}
	})
}

// The room around the encoder's copy of the page is compared by vectors that go too far, but makes
// no difference. The byte behind the page is part of the last hash and so must stay zero.
func TestMarginsMakeNoDifference(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		eachPair(t, func(t *testing.T, p pair) {
			clean := newPair(t, p.set)
			for i := 0; i < len(base); i += 3 * codectest.Stride() {
				front, back := p.enc.page[:margin], p.enc.page[margin+Size+1:]
				fill(front, base[i][0])
				fill(back, base[i][Size-1-i%4])
				if got, want := p.object(t, base[i]), clean.object(t, base[i]); !bytes.Equal(got, want) {
					t.Fatalf("page %d: %d bytes, %d with clean margins, or other bytes", i, len(got), len(want))
				}
			}
			if !bytes.Equal(clean.enc.page[:margin], make([]byte, margin)) || !bytes.Equal(clean.enc.page[margin+Size:], make([]byte, margin)) {
				t.Error("an encoder has written around its page")
			}
		})
	})
}

func TestF024Unaligned(t *testing.T) {
	memory, space, room := make([]byte, Size+64), make([]byte, Size+64), make([]byte, Size+64)
	eachPair(t, func(t *testing.T, p pair) {
		for i, page := range codectest.Generated()[:20] {
			want := p.object(t, page)
			for shift := range 64 {
				src, dst, back := memory[shift:][:Size], space[(shift*7)%64:][:Size], room[(shift*13)%64:][:Size]
				copy(src, page)
				n, err := p.enc.Compress(dst, src)
				if err != nil || !bytes.Equal(dst[:n], want) {
					t.Fatalf("page %d at address %d of 64: other bytes, or %v", i, shift, err)
				}
				if err := p.dec.Decompress(back, dst[:n]); n > 0 && (err != nil || !bytes.Equal(back, page)) {
					t.Fatalf("page %d at address %d of 64: did not come back: %v", i, shift, err)
				}
			}
		}
	})
}
