// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// The model test: writers do random operations on pages of their own and compare with a map;
// readers read all pages at the same time, and each page that they see must have been written
// there. Then the image is opened again, and everything must still be there.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		name   string
		limit  uint64
		blocks uint64 // of a backing device
	}{{"unlimited", 0, 0}, {"at the memory limit", 12 << 20, 0}, {"with a backing device", 0, 1500}, {"with one at the memory limit", 8 << 20, 1500}} {
		t.Run(c.name, func(t *testing.T) {
			cfg := withAlgorithm(t, Config{Disksize: 16 << 20, MemLimit: c.limit})
			if c.blocks != 0 {
				cfg.Backing = newBacking(t, c.blocks)
			}
			mem := newMemory(t)
			s, err := Create(mem, cfg)
			if err != nil {
				t.Fatal(err)
			}
			m := newModel(t, s)
			m.run(4, 2, opsFor(t))
			holds(t, s)
			before := s.Stats()
			finish(t, s)

			if s, err = Open(mem, cfg); err != nil {
				t.Fatal(err)
			}
			defer finish(t, s)
			m.s = s
			m.verify()
			after := s.Stats()
			if c.blocks != 0 && (before.BackingReads < 100 || before.WrittenBack == 0) {
				t.Errorf("%d pages are written back, %d were read: this proves nothing", before.WrittenBack, before.BackingReads)
			}
			if before.WrittenBack != after.WrittenBack || before.OrigDataSize != after.OrigDataSize || before.ComprDataSize != after.ComprDataSize || before.Codecs != after.Codecs {
				t.Errorf("opened again, the counters are\n%+v\nwere\n%+v", after, before)
			}
			m.run(4, 2, opsFor(t)/4)
		})
	}
}

func opsFor(t *testing.T) int {
	if testing.Short() {
		return 4_000
	}
	return 40_000
}

type model struct {
	t     *testing.T
	s     *Store
	pages [][]byte // what each page holds; each belongs to one writer
	full  atomic.Int64
}

func newModel(t *testing.T, s *Store) *model {
	m := &model{t: t, s: s, pages: make([][]byte, s.Pages())}
	for i := range m.pages {
		m.pages[i] = make([]byte, PageSize)
	}
	return m
}

func (m *model) run(writers, readers, ops int) {
	var writing, reading sync.WaitGroup
	stop := make(chan struct{})
	if m.s.cfg.Backing != nil {
		reading.Go(func() {
			m.again(stop, func() error { _, err := m.s.WriteBack(everything); return err })
		})
	}
	reading.Go(func() { m.again(stop, func() error { return joinSome(m.s, 2) }) })
	for r := range readers {
		reading.Go(func() { m.read(uint64(r), stop) })
	}
	for w := range writers {
		writing.Go(func() {
			if err := m.write(uint64(w), uint64(writers), ops); err != nil {
				m.t.Error(err)
			}
		})
	}
	writing.Wait()
	close(stop)
	reading.Wait()
	m.verify()
}

// wholePages of the device only ever see whole contents, so that readers can
// tell whether what they see was written.
func (m *model) wholePages() uint64 { return m.s.Pages() / 2 }

func (m *model) write(id, of uint64, ops int) error {
	rng := rand.New(rand.NewPCG(id, 7))
	for op := range ops {
		page := rng.Uint64N(m.s.Pages()/of)*of + id
		if err := m.operate(rng, page, uint32(op)); err != nil {
			return fmt.Errorf("writer %d, operation %d, page %d: %w", id, op, page, err)
		}
	}
	return nil
}

func (m *model) operate(rng *rand.Rand, page uint64, version uint32) error {
	w := m.s.Acquire()
	defer w.Release()
	kind := rng.IntN(10)
	if kind < 6 || page < m.wholePages() && kind < 8 {
		c := content{uint32(page), version, contentKind(rng.IntN(int(contentKinds)))}
		return m.change(w.Write(page, 0, c.bytes()), page, 0, c.bytes())
	}
	if page < m.wholePages() {
		w.Discard(page, 1)
		return m.change(nil, page, 0, make([]byte, PageSize))
	}
	off := rng.IntN(PageSize)
	n := rng.IntN(PageSize-off) + 1
	part := content{uint32(page), version, random}.bytes()[:n]
	if kind == 6 {
		clear(part)
		return m.change(w.Zero(page, off, n), page, off, part)
	}
	if kind == 7 {
		got := make([]byte, n)
		if err := w.Read(page, off, got); err != nil || !bytes.Equal(got, m.pages[page][off:off+n]) {
			return fmt.Errorf("read %d bytes at %d: wrong (%v)", n, off, err)
		}
		return nil
	}
	return m.change(w.Write(page, off, part), page, off, part)
}

// change applies an operation to the model if the store took it. A full store
// must have left the page alone.
func (m *model) change(err error, page uint64, off int, data []byte) error {
	if err != nil && m.s.limit.Load() != 0 {
		m.full.Add(1)
		return nil
	}
	if err == nil {
		copy(m.pages[page][off:], data)
	}
	return err
}

// again calls what changes no page until it is to stop; a full store or device is no failure.
func (m *model) again(stop chan struct{}, do func() error) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		if err := do(); err != nil && !errors.Is(err, ErrBackingFull) && !errors.Is(err, ErrFull) {
			m.t.Error(err)
			return
		}
	}
}

func (m *model) read(id uint64, stop chan struct{}) {
	rng := rand.New(rand.NewPCG(id, 11))
	p := make([]byte, PageSize)
	for {
		select {
		case <-stop:
			return
		default:
		}
		page := rng.Uint64N(m.wholePages())
		w := m.s.Acquire()
		err := w.Read(page, 0, p)
		w.Release()
		if err == nil {
			err = plausible(uint32(page), p)
		}
		if err != nil {
			m.t.Errorf("reader %d, page %d: %v", id, page, err)
			return
		}
	}
}

// plausible says whether p is a content of page, of any version.
func plausible(page uint32, p []byte) error {
	if bytes.Equal(p[8:], p[:PageSize-8]) { // one word repeated: the version is in it
		word := binary.LittleEndian.Uint64(p)
		of := uint32(word >> 32 &^ (1 << 31))
		if word == 0 || word>>63 == 0 && of == page&(1<<(image.ValueBits-32)-1) || word>>63 == 1 && of == page ||
			uint32(word) == uint32(word>>32) {
			return nil
		}
		return fmt.Errorf("filled with %#x", word)
	}
	c := content{binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[4:]), contentKind(binary.LittleEndian.Uint32(p[8:]))}
	if c.page != page || c.kind >= contentKinds || !bytes.Equal(c.bytes(), p) {
		return fmt.Errorf("not what anybody wrote there: %+v", c)
	}
	return nil
}

func (m *model) verify() {
	m.t.Helper()
	for page, want := range m.pages {
		if !bytes.Equal(read(m.t, m.s, uint64(page)), want) {
			m.t.Fatalf("page %d differs from the model", page)
		}
	}
}
