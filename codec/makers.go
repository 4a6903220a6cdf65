// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"

	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/codec/page"
	"github.com/zramfs/zramfs/codec/pagescan"
	"github.com/zramfs/zramfs/codec/zstd"
)

// The bounds of adaptive:entropy, in bits a byte, and the levels of zstd between them.
const (
	entropyLZ4   = 0.5
	entropyDense = 4.0
	entropyFast  = 6.0

	levelDense = 3
	levelFast  = 1
)

// makers holds what makes the compressor of each kind.
var makers = [kinds]func(Algorithm) (Compressor, error){
	kindAdaptive:  newAdaptive,
	kindEntropy:   newEntropy,
	kindPage:      newPage,
	kindPageDense: newPageDense,
	kindLZ4:       newLZ4,
	kindLZ4Fast:   newLZ4,
	kindZstd:      newZstd,
	kindRaw:       func(Algorithm) (Compressor, error) { return rawCompressor{}, nil },
}

// NewCompressor makes a compressor for one worker. The package comment says how much memory each
// algorithm takes. For an Algorithm that [Parse] did not return the error wraps
// [ErrUnknownAlgorithm], and for one whose dictionary was not given by [Algorithm.WithDictionary]
// it wraps [ErrDictionary].
func (a Algorithm) NewCompressor() (Compressor, error) {
	if makers[a.kind] == nil {
		return nil, fmt.Errorf("make compressor: %w", ErrUnknownAlgorithm)
	}
	c, err := makers[a.kind](a)
	if err != nil {
		return nil, fmt.Errorf("make compressor %s: %w", a, err)
	}
	return c, nil
}

// checkBuffers refuses what no Compressor takes.
func checkBuffers(dst, page []byte) error {
	if len(page) != PageSize {
		return fmt.Errorf("compress page of %d bytes: %w", len(page), ErrPageSize)
	}
	if len(dst) < PageSize {
		return fmt.Errorf("compress page to %d bytes: %w", len(dst), ErrBuffer)
	}
	return nil
}

// rawCompressor stores every page as it is.
type rawCompressor struct{}

func (rawCompressor) Compress(dst, page []byte) (ID, int, error) {
	if err := checkBuffers(dst, page); err != nil {
		return None, 0, err
	}
	return Raw, PageSize, nil
}

// An encoder is what the codecs' packages have in common.
type encoder interface {
	// Compress writes the object of src to dst and returns its length, or 0 if it is longer than
	// dst.
	Compress(dst, src []byte) (int, error)
}

// fixed is an algorithm that takes one codec for every page.
type fixed struct {
	id  ID      // immutable
	enc encoder // one worker's
}

func (c *fixed) Compress(dst, page []byte) (ID, int, error) {
	if err := checkBuffers(dst, page); err != nil {
		return None, 0, err
	}
	return try(c.enc, c.id, dst[:maxObject], page)
}

func newPage(a Algorithm) (Compressor, error) {
	enc, err := page.NewEncoder(a.simd)
	if err != nil {
		return nil, err
	}
	return &fixed{id: Page, enc: enc}, nil
}

func newPageDense(a Algorithm) (Compressor, error) {
	enc, err := page.NewDenseEncoder(a.simd)
	if err != nil {
		return nil, err
	}
	return &fixed{id: PageDense, enc: enc}, nil
}

func newLZ4(a Algorithm) (Compressor, error) {
	enc, err := lz4.NewEncoder(lz4.Options{Fast: a.kind == kindLZ4Fast, SIMD: a.simd})
	if err != nil {
		return nil, err
	}
	return &fixed{id: LZ4, enc: enc}, nil
}

func newZstd(a Algorithm) (Compressor, error) {
	if err := a.checkDictionary(); err != nil {
		return nil, err
	}
	if a.dict == nil {
		enc, err := zstd.NewEncoder(int(a.level))
		if err != nil {
			return nil, err
		}
		return &fixed{id: Zstd, enc: enc}, nil
	}
	enc, err := zstd.NewDictionaryEncoder(int(a.level), a.dict)
	if err != nil {
		return nil, err
	}
	return &fixed{id: ZstdDict, enc: enc}, nil
}

// entropy chooses by Shannon entropy. It is there to compare others with: on real pages zstd level
// 1 alone is at least as small, and faster. Reading the whole page for its entropy takes a third as
// long as compressing it by LZ4.
type entropy struct {
	lz4   *lz4.Encoder  // one worker's
	dense *zstd.Encoder // one worker's
	fast  *zstd.Encoder // one worker's
}

func newEntropy(Algorithm) (Compressor, error) {
	dense, err := zstd.NewEncoder(levelDense)
	if err != nil {
		return nil, err
	}
	fast, err := zstd.NewEncoder(levelFast)
	if err != nil {
		return nil, err
	}
	return &entropy{lz4: new(lz4.Encoder), dense: dense, fast: fast}, nil
}

func (c *entropy) Compress(dst, page []byte) (ID, int, error) {
	if err := checkBuffers(dst, page); err != nil {
		return None, 0, err
	}
	switch h := pagescan.Entropy(page); {
	case h < entropyLZ4:
		return try(c.lz4, LZ4, dst[:maxObject], page)
	case h < entropyDense:
		return try(c.dense, Zstd, dst[:maxObject], page)
	case h < entropyFast:
		return try(c.fast, Zstd, dst[:maxObject], page)
	default:
		return Raw, PageSize, nil
	}
}

// try returns the object that enc makes of page, or Raw where it does not fit in dst.
func try(enc encoder, id ID, dst, page []byte) (ID, int, error) {
	n, err := enc.Compress(dst, page)
	if err != nil {
		return None, 0, fmt.Errorf("compress page by %s: %w", id, err)
	}
	if n == 0 {
		return Raw, PageSize, nil
	}
	return id, n, nil
}
