// SPDX-License-Identifier: Apache-2.0

package pagescan

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// featuresByDefinition counts byte by byte.
func featuresByDefinition(page []byte) Features {
	var f Features
	for start := 128; start < PageSize; start += 512 {
		for i := start; i < start+64; i++ {
			if page[i] >= 0x80 {
				f.High++
			}
			if page[i] == 0 {
				f.Zero++
			}
			if page[i] == page[i-24] {
				f.Same24++
			}
			word := i / 8 * 8
			if bytes.Equal(page[word:word+8], page[word-16:word-8]) {
				f.Same16++
			}
		}
	}
	return f
}

func TestFeaturesOfKnownPages(t *testing.T) {
	ff, text := bytes.Repeat([]byte{0xff}, PageSize), bytes.Repeat([]byte("abcdefg"), PageSize)[:PageSize]
	every24 := bytes.Repeat([]byte("abcdefghijklmnopqrstuvw\x80"), PageSize)[:PageSize]
	every16 := bytes.Repeat([]byte("abcdefghijklmno\x00"), PageSize)[:PageSize]
	for name, test := range map[string]struct {
		page []byte
		want Features
	}{
		"zeros":             {make([]byte, PageSize), Features{Zero: Sampled, Same24: Sampled, Same16: Sampled}},
		"ones":              {ff, Features{High: Sampled, Same24: Sampled, Same16: Sampled}},
		"seven letters":     {text, Features{}},
		"24 bytes repeated": {every24, Features{High: 6*3 + 2*2, Same24: Sampled}},
		"16 bytes repeated": {every16, Features{Zero: Sampled / 16, Same16: Sampled}},
	} {
		if got := Scan(test.page); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

func TestScanRefusesOtherLengths(t *testing.T) {
	for _, n := range []int{0, 8, PageSize - 1, PageSize + 1, 2 * PageSize} {
		if got := Scan(make([]byte, n)); got != (Features{}) {
			t.Errorf("%d bytes: got %+v", n, got)
		}
	}
}

// Each implementation counts what the fields' comments say.
func TestFeaturesAgreeWithDefinition(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		eachCount(t, func(t *testing.T, count countFunc) {
			for i := 0; i < len(base); i += codectest.Stride() {
				if got, want := split(count(base[i])), featuresByDefinition(base[i]); got != want {
					t.Fatalf("page %d: got %+v, want %+v", i, got, want)
				}
			}
		})
	})
}

// Every byte that is sampled counts, and no other.
func TestCountSeesEachSampledByte(t *testing.T) {
	eachCount(t, func(t *testing.T, count countFunc) {
		page := make([]byte, PageSize)
		for i := range page {
			page[i] = 0x80
			if got, want := split(count(page)), featuresByDefinition(page); got != want {
				t.Errorf("byte %d of 0x80: got %+v, want %+v", i, got, want)
			}
			page[i] = 0
		}
	})
}
