// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

func TestF001LZ4Lossless(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		t.Parallel()
		var encoders []*Encoder
		for _, fast := range []bool{false, true} {
			enc, err := NewEncoder(Options{Fast: fast})
			if err != nil {
				t.Fatal(err)
			}
			encoders = append(encoders, enc)
		}
		page, back := make([]byte, MaxSize), make([]byte, MaxSize)
		object := make([]byte, MaxObject)
		for i := range codectest.Rounds() / 2 {
			codectest.Derive(page, base, i)
			way := (i + i/len(base)) % len(encoders) // so that each base page has its turn with both
			n, err := encoders[way].Compress(object, page)
			if err != nil || n == 0 {
				t.Fatalf("page %d, encoder %d: compress gave %d bytes: %v", i, way, n, err)
			}
			if err := Decompress(back, object[:n]); err != nil {
				t.Fatalf("page %d, encoder %d: %v", i, way, err)
			}
			if !bytes.Equal(back, page) {
				t.Fatalf("page %d, encoder %d: came back different", i, way)
			}
		}
	})
}

func TestF005ShortBuffers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	random, back := make([]byte, MaxSize), make([]byte, MaxSize)
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	object, want := make([]byte, MaxObject), make([]byte, MaxObject)
	eachRoutines(t, func(t *testing.T, r routines) {
		var tab table
		for n := 1; n <= MaxSize; n += step(n) {
			for _, src := range [][]byte{random[:n], make([]byte, n), codectest.Generated()[n-1][:n]} {
				for i, e := range r.encodings() {
					size := e.encode(object, src, &tab)
					if !r.decode(back[:n], object[:size]) || !bytes.Equal(back[:n], src) {
						t.Fatalf("%s: %d bytes did not come back", e.name, n)
					}
					if m := generic().encodings()[i].encode(want, src, &tab); !bytes.Equal(object[:size], want[:m]) {
						t.Fatalf("%s: %d bytes: the object is another than the generic one", e.name, n)
					}
				}
			}
		}
	})
}

func TestF013WrongSizes(t *testing.T) {
	var enc Encoder
	var dec Decoder
	object := make([]byte, MaxObject)
	for _, n := range []int{0, MaxSize + 1, 1 << 20} {
		if _, err := enc.Compress(object, make([]byte, n)); !errors.Is(err, ErrSize) {
			t.Errorf("compress %d bytes: got %v", n, err)
		}
		if err := Decompress(make([]byte, n), object); !errors.Is(err, ErrSize) {
			t.Errorf("decompress to %d bytes: got %v", n, err)
		}
		if err := dec.Decompress(make([]byte, n), object); !errors.Is(err, ErrSize) {
			t.Errorf("decoder, to %d bytes: got %v", n, err)
		}
	}
}

// A set that is not there is refused; each that there is makes an encoder and a decoder.
func TestInstructionSetIsAsked(t *testing.T) {
	if _, err := NewEncoder(Options{SIMD: "mmx"}); !errors.Is(err, impl.ErrUnavailable) {
		t.Errorf("encoder: got %v", err)
	}
	if _, err := NewDecoder("mmx"); !errors.Is(err, impl.ErrUnavailable) {
		t.Errorf("decoder: got %v", err)
	}
	if sets := Sets(); len(sets) == 0 || sets[len(sets)-1] != impl.Generic {
		t.Errorf("the sets are %v", sets)
	}
	page, object, back := codectest.Generated()[1], make([]byte, MaxObject), make([]byte, MaxSize)
	for _, set := range impl.Usable() {
		enc, err := NewEncoder(Options{SIMD: set})
		if err != nil {
			t.Fatal(err)
		}
		dec, err := NewDecoder(set)
		if err != nil {
			t.Fatal(err)
		}
		n, err := enc.Compress(object, page)
		if err != nil {
			t.Fatal(err)
		}
		if err := dec.Decompress(back, object[:n]); err != nil || !bytes.Equal(back, page) {
			t.Errorf("%s: came back different, or %v", set, err)
		}
	}
}

// step returns how far to go from a buffer of n bytes to the next: by one, but with -short only
// where they are short.
func step(n int) int {
	if n < 300 {
		return 1
	}
	return codectest.Stride()
}
