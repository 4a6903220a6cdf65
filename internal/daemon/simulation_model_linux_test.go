// SPDX-License-Identifier: Apache-2.0

//go:build simulation

package daemon

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/zramfs/zramfs/store"
)

// A model knows what each page of the device may hold: one content once a write was acknowledged,
// several after writes that failed or are not answered yet.
type model struct {
	rng     *rand.Rand
	pages   [][][]byte // what each may hold
	using   []int      // users that read a page, -1 for one that writes
	reading []int      // reads of a page under way, also during a write
	seen    [][][]byte // what a page may have held since the first of them began
	changed []bool     // a change has begun or ended since then
	cluster uint64     // pages that lie side by side on the device
	stride  uint64     // from one cluster to the next, in pages
	version uint64     // of the last content made
	open    int        // pages that are used so far
	samples [][]byte   // contents to begin with
}

func newModel(rng *rand.Rand, pages int, cluster, stride uint64) *model {
	m := &model{rng: rng, using: make([]int, pages), reading: make([]int, pages), seen: make([][][]byte, pages),
		changed: make([]bool, pages), cluster: cluster, stride: stride, open: 64}
	zero := make([]byte, store.PageSize)
	for range pages {
		m.pages = append(m.pages, [][]byte{zero})
	}
	for kind := range 64 {
		m.samples = append(m.samples, sample(rng, kind%8))
	}
	return m
}

// sample makes a page that compresses in one of eight ways.
func sample(rng *rand.Rand, kind int) []byte {
	p := make([]byte, store.PageSize)
	fill := func(p []byte) {
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
	}
	switch kind {
	case 0: // hardly anything
	case 1, 2: // words that repeat
		for i := 0; i+8 <= len(p); i += 8 {
			binary.LittleEndian.PutUint64(p[i:], 0x7f0000000000+uint64(rng.IntN(64))*16)
		}
	case 3: // text
		words := []string{"the ", "page ", "kernel ", "of ", "swap ", "store ", "a ", "writes "}
		for i := 0; i < len(p); {
			i += copy(p[i:], words[rng.IntN(len(words))])
		}
	case 4: // runs
		for i := 0; i < len(p); {
			n, b := rng.IntN(100)+1, byte(rng.IntN(4))
			for j := i; j < min(i+n, len(p)); j++ {
				p[j] = b
			}
			i += n
		}
	case 5, 6: // a part of noise
		fill(p[:len(p)*kind/8])
	default:
		fill(p)
	}
	return p
}

// page is the number on the device of the model's i-th.
func (m *model) page(i int) uint64 { return uint64(i)/m.cluster*m.stride + uint64(i)%m.cluster }

// content makes a page that none has held before.
func (m *model) content() []byte {
	m.version++
	p := bytes.Clone(m.samples[m.rng.IntN(len(m.samples))])
	switch m.rng.IntN(8) {
	case 0: // one word
		word := m.version // one that an entry of the index has room for
		switch m.rng.IntN(4) {
		case 0:
			word *= 0x9E3779B97F4A7C15
		case 1, 2: // one that many pages have
			word = uint64(m.rng.IntN(40)) * 0x9E3779B97F4A7C15
		}
		for i := 0; i < len(p); i += 8 {
			binary.LittleEndian.PutUint64(p[i:], word)
		}
	default:
		binary.LittleEndian.PutUint64(p[8*m.rng.IntN(len(p)/8):], m.version)
	}
	return p
}

// claim takes n pages from a random one on, for one writer or for readers, as the swap code and a
// file system do; n is 0 where they are in use.
func (m *model) claim(most int, writing bool) (first, n int) {
	first = m.rng.IntN(m.open)
	if m.rng.IntN(4) == 0 { // pages that all want
		first %= 8
	}
	room := int(m.cluster) - first%int(m.cluster)
	n = 1
	if m.rng.IntN(3) == 0 {
		n = 1 + m.rng.IntN(min(most, room))
	}
	n = min(n, len(m.pages)-first)
	for _, u := range m.using[first : first+n] {
		if u < 0 || writing && u > 0 {
			return first, 0
		}
	}
	m.use(first, n, writing, 1)
	return first, n
}

func (m *model) use(first, n int, writing bool, by int) {
	for i := range n {
		if writing {
			by = -by
		}
		m.using[first+i] += by
		if writing {
			by = -by
		}
	}
}

// look takes n pages for reading, also while users write them.
func (m *model) look(first, n int) {
	for i := first; i < first+n; i++ {
		if m.reading[i]++; m.reading[i] == 1 {
			m.seen[i], m.changed[i] = m.pages[i], false
		}
	}
}

// looked ends it.
func (m *model) looked(first, n int) {
	for i := first; i < first+n; i++ {
		m.reading[i]--
	}
}

// release gives pages back that claim has taken.
func (m *model) release(first, n int, writing bool) { m.use(first, n, writing, -1) }

// change says that bytes of a page are changed from off on; until done says how it ended, the page
// holds either.
func (m *model) change(i, off int, data []byte) (done func(ok bool)) {
	before := m.pages[i]
	var after [][]byte
	for _, old := range before {
		p := data
		if len(data) < store.PageSize {
			p = bytes.Clone(old)
			copy(p[off:], data)
		}
		after = add(after, p)
	}
	both := after
	for _, old := range before {
		both = add(both, old)
	}
	m.pages[i] = both
	m.changed[i] = true
	if m.reading[i] > 0 {
		for _, p := range after {
			m.seen[i] = add(m.seen[i], p)
		}
	}
	return func(ok bool) {
		m.changed[i] = true
		if ok {
			m.pages[i] = after
		}
	}
}

// add adds a content that is not there yet.
func add(all [][]byte, p []byte) [][]byte {
	for _, q := range all {
		if bytes.Equal(p, q) {
			return all
		}
	}
	return append(all[:len(all):len(all)], p)
}

// hold demands that what was read of a page from off on is something that it may hold, which it
// holds from now on.
func (m *model) hold(i, off int, got []byte) error {
	var fit [][]byte
	for _, p := range m.seen[i] {
		if bytes.Equal(p[off:off+len(got)], got) {
			fit = append(fit, p)
		}
	}
	if len(fit) == 0 {
		want, at := m.seen[i][0][off:off+len(got)], 0
		for at < len(got) && got[at] == want[at] {
			at++
		}
		end := min(at+16, len(got))
		return fmt.Errorf("page %d: %d bytes from %d on are none of the %d contents that it may have: from byte %d on it reads %x, one is %x",
			m.page(i), len(got), off, len(m.seen[i]), off+at, got[at:end], want[at:end])
	}
	if m.using[i] >= 0 && !m.changed[i] { // else a change that failed may have come after the read
		m.pages[i] = fit
	}
	return nil
}
