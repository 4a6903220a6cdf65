// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/pagescan"
)

// figures are what a line of the report shows.
type figures struct {
	pages int
	// sameFilled is the share of pages that are one repeated 8-byte word, 0 to 1.
	sameFilled float64
	// lz4 and zstd are the compression ratios over the other pages, a page that
	// does not become smaller counting as a whole one.
	lz4, zstd float64
}

func measure(memory []byte) (figures, error) {
	out := figures{pages: len(memory) / codec.PageSize}
	var rest [][]byte
	for at := 0; at+codec.PageSize <= len(memory); at += codec.PageSize {
		page := memory[at : at+codec.PageSize]
		if _, same := pagescan.SameFilled(page); !same {
			rest = append(rest, page)
		}
	}
	if out.pages > 0 {
		out.sameFilled = float64(out.pages-len(rest)) / float64(out.pages)
	}
	var err error
	if out.lz4, err = ratio("lz4", rest); err != nil {
		return figures{}, err
	}
	out.zstd, err = ratio("zstd", rest)
	return out, err
}

// ratio returns the bytes of pages over the bytes that an algorithm makes of
// them, and 1 for no pages.
func ratio(algorithm string, pages [][]byte) (float64, error) {
	parsed, err := codec.Parse(algorithm)
	if err != nil {
		return 0, err
	}
	compressor, err := parsed.NewCompressor()
	if err != nil {
		return 0, err
	}
	dst := make([]byte, codec.PageSize)
	raw, stored := 0, 0
	for _, page := range pages {
		_, n, err := compressor.Compress(dst, page)
		if err != nil {
			return 0, err
		}
		raw += len(page)
		stored += n
	}
	if stored == 0 {
		return 1, nil
	}
	return float64(raw) / float64(stored), nil
}
