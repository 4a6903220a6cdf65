// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// F001 for this level, by the best implementation; the others are compared with it below.
func TestF001DenseLossless(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		t.Parallel()
		var enc DenseEncoder
		var dec DenseDecoder
		page, back, object := make([]byte, Size), make([]byte, Size), make([]byte, MaxObject)
		kept := 0
		for i := range codectest.Rounds() / 2 {
			codectest.Derive(page, base, i)
			n, err := enc.Compress(object, page)
			if err != nil {
				t.Fatalf("page %d: %v", i, err)
			}
			if n == 0 {
				continue
			}
			kept++
			if err := dec.Decompress(back, object[:n]); err != nil {
				t.Fatalf("page %d: %v", i, err)
			}
			if !bytes.Equal(back, page) {
				t.Fatalf("page %d: came back different", i)
			}
		}
		if kept == 0 {
			t.Error("no page was compressed")
		}
	})
}

// F004: noise has no object.
func TestF004RandomPagesHaveNoDenseObject(t *testing.T) {
	rng := newRand(4)
	page, object := make([]byte, Size), make([]byte, Size)
	eachDensePair(t, func(t *testing.T, p densePair) {
		for range 1000 {
			for i := range page {
				page[i] = byte(rng.Uint32())
			}
			if n, err := p.enc.Compress(object, page); n != 0 || err != nil {
				t.Fatalf("%d bytes, %v", n, err)
			}
		}
	})
}

// F006 and F007: pages of one byte take few bytes whatever it is, and so do those that repeat what
// is short.
func TestF006RepeatedPagesAreSmallDense(t *testing.T) {
	page, back := make([]byte, Size), make([]byte, Size)
	eachDensePair(t, func(t *testing.T, p densePair) {
		for b := range 256 {
			for _, period := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 48, 63, 64, 65, 72, 100} {
				for i := range page {
					page[i] = byte(b + i%period*37)
				}
				object := p.object(t, page)
				if object == nil || len(object) > 20+period*3/2 {
					t.Fatalf("byte %d, period %d: %d bytes", b, period, len(object))
				}
				if err := p.dec.Decompress(back, object); err != nil || !bytes.Equal(back, page) {
					t.Fatalf("byte %d, period %d: came back different: %v", b, period, err)
				}
			}
		}
	})
}

// Pages with one match of any distance.
func TestEveryDistanceDense(t *testing.T) {
	rng := newRand(5)
	noise, page, back := make([]byte, Size), make([]byte, Size), make([]byte, Size)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	eachDensePair(t, func(t *testing.T, p densePair) {
		for distance := 1; distance <= Size-200; distance += 1 + distance/128 {
			copy(page, noise)
			for i := distance; i < Size; i++ {
				page[i] = page[i-distance]
			}
			object := p.object(t, page)
			if object == nil || len(object) > distance+100 {
				t.Fatalf("distance %d: %d bytes", distance, len(object))
			}
			if err := p.dec.Decompress(back, object); err != nil || !bytes.Equal(back, page) {
				t.Fatalf("distance %d: came back different: %v", distance, err)
			}
		}
	})
}

// On the pages of the sample together this level takes less than the plain one.
func TestDenseObjectsAreShorter(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		plain, dense := 0, 0
		p, d := newPair(t, ""), newDensePair(t, "")
		length := func(object []byte) int {
			if object == nil {
				return Size
			}
			return len(object)
		}
		for i := 0; i < len(base); i += 5 {
			plain += length(p.object(t, base[i]))
			dense += length(d.object(t, base[i]))
		}
		if dense >= plain {
			t.Errorf("%d bytes, and %d by the plain level", dense, plain)
		}
	})
}

func TestF013WrongSizesDense(t *testing.T) {
	object := make([]byte, Size)
	for _, n := range []int{0, 1, Size - 1, Size + 1, 2 * Size} {
		eachDensePair(t, func(t *testing.T, p densePair) {
			if _, err := p.enc.Compress(object, make([]byte, n)); !errors.Is(err, ErrSize) {
				t.Errorf("compress %d bytes: got %v", n, err)
			}
			if err := p.dec.Decompress(make([]byte, n), object); !errors.Is(err, ErrSize) {
				t.Errorf("decompress to %d bytes: got %v", n, err)
			}
		})
	}
}

// A set that is not there is refused; each that there is makes an encoder and a decoder. Those of
// no choice work as well.
func TestInstructionSetIsAskedDense(t *testing.T) {
	if _, err := NewDenseEncoder("mmx"); !errors.Is(err, impl.ErrUnavailable) {
		t.Errorf("encoder: got %v", err)
	}
	if _, err := NewDenseDecoder("mmx"); !errors.Is(err, impl.ErrUnavailable) {
		t.Errorf("decoder: got %v", err)
	}
	page, back := codectest.Generated()[1], make([]byte, Size)
	all := []densePair{{"none", new(DenseEncoder), new(DenseDecoder)}}
	for _, set := range append(impl.Usable(), "") {
		all = append(all, newDensePair(t, set))
	}
	for _, p := range all {
		if err := p.dec.Decompress(back, p.object(t, page)); err != nil || !bytes.Equal(back, page) {
			t.Errorf("%q: came back different, or %v", p.set, err)
		}
	}
}

// F030: no two encoders or decoders have a line of the processor's cache in common, so that workers
// do not take it from each other. The allocator sees to that for what is so large.
func TestF030DenseStateSharesNoCacheLine(t *testing.T) {
	const line = 64
	owner := map[uintptr]int{}
	var all []any
	for i := range 200 {
		p := newDensePair(t, "")
		all = append(all, p.enc, p.dec) // none of them may be given back before the end
		for _, state := range all[2*i:] {
			v := reflect.ValueOf(state)
			for at := v.Pointer() / line; at <= (v.Pointer()+v.Type().Elem().Size()-1)/line; at++ {
				if other, ok := owner[at]; ok && other != i {
					t.Fatalf("pairs %d and %d share a line", other, i)
				}
				owner[at] = i
			}
		}
	}
	runtime.KeepAlive(all)
}
