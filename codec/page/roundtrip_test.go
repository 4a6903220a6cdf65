// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"errors"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// F004: noise has no object.
func TestF004RandomPagesHaveNoObject(t *testing.T) {
	rng := newRand(4)
	page, object := make([]byte, Size), make([]byte, Size)
	eachPair(t, func(t *testing.T, p pair) {
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
func TestF006RepeatedPagesAreSmall(t *testing.T) {
	page, back := make([]byte, Size), make([]byte, Size)
	eachPair(t, func(t *testing.T, p pair) {
		for b := range 256 {
			for _, period := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 48, 63, 64, 65, 72, 100} {
				for i := range page {
					page[i] = byte(b + i%period*37)
				}
				object := p.object(t, page)
				if object == nil || len(object) > 40+2*period { // an odd distance is found twice as far back
					t.Fatalf("byte %d, period %d: %d bytes", b, period, len(object))
				}
				if err := p.dec.Decompress(back, object); err != nil || !bytes.Equal(back, page) {
					t.Fatalf("byte %d, period %d: came back different: %v", b, period, err)
				}
			}
		}
	})
}

// Pages with one match of any distance, at the edges of what near bytes and far words say.
func TestEveryDistance(t *testing.T) {
	rng := newRand(5)
	noise, page, back := make([]byte, Size), make([]byte, Size), make([]byte, Size)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	eachPair(t, func(t *testing.T, p pair) {
		for distance := 1; distance <= Size-100; distance++ {
			copy(page, noise)
			for i := distance; i < Size; i++ {
				page[i] = page[i-distance]
			}
			object := p.object(t, page)
			if object == nil {
				if distance%2 == 0 || distance < 2000 { // of other distances only the double is found
					t.Fatalf("distance %d: no object", distance)
				}
				continue
			}
			if err := p.dec.Decompress(back, object); err != nil || !bytes.Equal(back, page) {
				t.Fatalf("distance %d: came back different: %v", distance, err)
			}
		}
	})
}

func TestF013WrongSizes(t *testing.T) {
	object := make([]byte, Size)
	for _, n := range []int{0, 1, Size - 1, Size + 1, 2 * Size} {
		eachPair(t, func(t *testing.T, p pair) {
			if _, err := p.enc.Compress(object, make([]byte, n)); !errors.Is(err, ErrSize) {
				t.Errorf("compress %d bytes: got %v", n, err)
			}
			if err := p.dec.Decompress(make([]byte, n), object); !errors.Is(err, ErrSize) {
				t.Errorf("decompress to %d bytes: got %v", n, err)
			}
		})
		if err := Decompress(make([]byte, n), object); !errors.Is(err, ErrSize) {
			t.Errorf("decompress to %d bytes: got %v", n, err)
		}
	}
}

// A set that is not there is refused; each that there is makes an encoder and a decoder. Those of
// no choice work as well.
func TestInstructionSetIsAsked(t *testing.T) {
	if _, err := NewEncoder("mmx"); !errors.Is(err, impl.ErrUnavailable) {
		t.Errorf("encoder: got %v", err)
	}
	if _, err := NewDecoder("mmx"); !errors.Is(err, impl.ErrUnavailable) {
		t.Errorf("decoder: got %v", err)
	}
	if sets := Sets(); len(sets) == 0 || sets[len(sets)-1] != impl.Generic {
		t.Errorf("the sets are %v", sets)
	}
	page, back := codectest.Generated()[1], make([]byte, Size)
	all := []pair{{"none", new(Encoder), new(Decoder)}}
	for _, set := range append(impl.Usable(), "") {
		all = append(all, newPair(t, set))
	}
	for _, p := range all {
		if err := p.dec.Decompress(back, p.object(t, page)); err != nil || !bytes.Equal(back, page) {
			t.Errorf("%q: came back different, or %v", p.set, err)
		}
	}
}
