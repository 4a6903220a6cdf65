// SPDX-License-Identifier: Apache-2.0

package pagescan

import (
	"math/rand/v2"
	"testing"
)

// A machine makes pages with what two codecs would make of them.
type machine struct {
	rng    *rand.Rand
	target bool // whether it is the pages with few high bytes that the denser codec saves most on, or the others
}

// next returns a page of one of two kinds, one in four of the first, and the sizes by codec.
func (m *machine) next() (f Features, sizes [2]int, gainful bool) {
	gainful = m.rng.IntN(4) == 0
	f = Features{Zero: uint16(m.rng.IntN(Sampled + 1)), Same24: uint16(m.rng.IntN(Sampled + 1)), Same16: uint16(m.rng.IntN(Sampled + 1))}
	f.High = uint16(m.rng.IntN(Sampled / 2))
	if gainful != m.target {
		f.High += Sampled / 2
	}
	ofFast := 1000 + m.rng.IntN(1000)
	if gainful {
		return f, [2]int{ofFast, ofFast - 800 - m.rng.IntN(200)}, true
	}
	return f, [2]int{ofFast, ofFast - m.rng.IntN(300)}, false
}

// play chooses for n pages and returns how many went to the denser codec, and how many of those
// gained much.
func (m *machine) play(c *Chooser, level, n int) (chosen, gainful int) {
	for range n {
		f, sizes, much := m.next()
		toDense := c.Choose(f, level)
		if toDense {
			chosen++
			c.Learn(true, sizes[dense])
			if much {
				gainful++
			}
		} else {
			c.Learn(false, sizes[fast])
		}
	}
	return chosen, gainful
}

func newMachine(target bool) *machine {
	return &machine{rng: rand.New(rand.NewPCG(11, 13)), target: target}
}

// It learns which pages gain, without having been told anything, and learns anew when that turns
// about.
func TestChooserFindsThePagesThatGain(t *testing.T) {
	c := NewChooser(1400, 900)
	for _, target := range []bool{false, true, false} {
		m := newMachine(target)
		m.play(c, 4, 100_000)
		if chosen, gainful := m.play(c, 4, 10_000); gainful < chosen*3/4 || gainful < 2000 {
			t.Errorf("target %v: of %d pages chosen %d gain much, of 2500 that do", target, chosen, gainful)
		}
	}
}

// Each level has its share, though the pages gain more than the chooser was told at first.
func TestChooserHoldsTheShare(t *testing.T) {
	for level, share := range Shares {
		c, m := NewChooser(1200, 1100), newMachine(true)
		m.play(c, level, 50_000)
		chosen, _ := m.play(c, level, 20_000)
		if got, want := float64(chosen)/20_000, float64(share)/256; got < want*0.85-0.001 || got > want*1.15+0.001 {
			t.Errorf("level %d: %.3f of the pages were chosen, want %.3f", level, got, want)
		}
	}
}

// All bounds follow the pages, so that a level that was not asked for before holds at once.
func TestChooserChangesLevelAtOnce(t *testing.T) {
	c, m := NewChooser(1400, 900), newMachine(true)
	m.play(c, 1, 50_000)
	for _, level := range []int{5, 2, 6, 3} {
		chosen, _ := m.play(c, level, 1000)
		if got, want := float64(chosen)/1000, float64(Shares[level])/256; got < want*0.7 || got > want*1.3 {
			t.Errorf("level %d: %.3f of the next 1000 pages were chosen, want %.3f", level, got, want)
		}
	}
}

func TestChooserAtTheEnds(t *testing.T) {
	for level, want := range map[int]int{-1: 0, 0: 0, Levels - 1: 500, Levels: 500} {
		if chosen, _ := newMachine(true).play(NewChooser(1400, 900), level, 500); chosen != want {
			t.Errorf("level %d: %d of 500 pages were chosen, want %d", level, chosen, want)
		}
	}
}

func TestChooserRepeatsItself(t *testing.T) {
	a, b := NewChooser(1400, 900), NewChooser(1400, 900)
	newMachine(true).play(a, 3, 5000)
	newMachine(true).play(b, 3, 5000)
	if *a != *b {
		t.Error("the same pages led to another state")
	}
}

// Whatever it is told, estimates stay within what the tables can hold, and sizes that cannot be are
// taken for the nearest.
func TestChooserBearsAnything(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 19))
	c := NewChooser(-5, 1<<40)
	const limit = (PageSize<<unitShift + tables*entryLimit) * 2
	for i := range 200_000 {
		size := []int{0, PageSize, -1 << 40, 1 << 40, rng.IntN(PageSize)}[rng.IntN(5)]
		f := Features{High: uint16(rng.Uint32()), Zero: uint16(i % 3 * 4096), Same24: uint16(rng.IntN(Sampled + 1))}
		c.Learn(c.Choose(f, rng.IntN(Levels)), size)
		if max(c.sizes[fast], -c.sizes[fast], c.sizes[dense], -c.sizes[dense]) > limit {
			t.Fatalf("page %d: estimates %v", i, c.sizes)
		}
	}
}
