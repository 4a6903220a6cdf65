// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"

	"zramfs/codec/lz4"
	"zramfs/codec/pagescan"
	"zramfs/codec/zstd"
)

// lz4Cap is the length in bytes up to which the adaptive algorithm is content with LZ4. Few real pages are longer, 0.4 to
// 9 % by sample, and among them are all that cannot be compressed.
const lz4Cap = PageSize * 3 / 4

// The bounds of adaptive:entropy, in bits a byte, and the levels of zstd between them.
const (
	entropyLZ4   = 0.5
	entropyDense = 4.0
	entropyFast  = 6.0

	levelDense = 3
	levelFast  = 1
)

// NewCompressor makes a compressor for one worker. The package comment says how much memory each algorithm takes. For an
// Algorithm that [Parse] did not return the error wraps [ErrUnknownAlgorithm].
func (a Algorithm) NewCompressor() (Compressor, error) {
	switch a.kind {
	case kindRaw:
		return rawCompressor{}, nil
	case kindLZ4:
		return &lz4Compressor{enc: new(lz4.Encoder)}, nil
	case kindZstd:
		enc, err := zstd.NewEncoder(int(a.level))
		if err != nil {
			return nil, fmt.Errorf("make compressor %s: %w", a, err)
		}
		return &zstdCompressor{enc: enc}, nil
	case kindAdaptive:
		return newAdaptive()
	case kindEntropy:
		return newEntropy()
	default:
		return nil, fmt.Errorf("make compressor: %w", ErrUnknownAlgorithm)
	}
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

// lz4Compressor is the algorithm lz4.
type lz4Compressor struct {
	enc *lz4.Encoder // one worker's
}

func (c *lz4Compressor) Compress(dst, page []byte) (ID, int, error) {
	if err := checkBuffers(dst, page); err != nil {
		return None, 0, err
	}
	return tryLZ4(c.enc, dst[:maxObject], page)
}

// zstdCompressor is the algorithm zstd at one level.
type zstdCompressor struct {
	enc *zstd.Encoder // one worker's
}

func (c *zstdCompressor) Compress(dst, page []byte) (ID, int, error) {
	if err := checkBuffers(dst, page); err != nil {
		return None, 0, err
	}
	return tryZstd(c.enc, dst[:maxObject], page)
}

// adaptive tries the fast codec and takes the dense one where that is worth its time: where LZ4 gains little, zstd gains
// most. LZ4's own result is a better and cheaper guide to that than any scan of the page before.
type adaptive struct {
	fast  *lz4.Encoder  // one worker's
	dense *zstd.Encoder // one worker's
}

func newAdaptive() (Compressor, error) {
	dense, err := zstd.NewEncoder(levelFast)
	if err != nil {
		return nil, fmt.Errorf("make compressor adaptive: %w", err)
	}
	return &adaptive{fast: new(lz4.Encoder), dense: dense}, nil
}

func (c *adaptive) Compress(dst, page []byte) (ID, int, error) {
	if err := checkBuffers(dst, page); err != nil {
		return None, 0, err
	}
	id, n, err := tryLZ4(c.fast, dst[:lz4Cap], page)
	if id != Raw || err != nil {
		return id, n, err
	}
	return tryZstd(c.dense, dst[:maxObject], page)
}

// entropy is the rule of the specification, kept so that others can be compared with it: on real pages zstd level 1 alone
// is at least as small, and faster. Reading the whole page for its entropy takes a third as long as compressing it by LZ4.
type entropy struct {
	lz4   *lz4.Encoder  // one worker's
	dense *zstd.Encoder // one worker's
	fast  *zstd.Encoder // one worker's
}

func newEntropy() (Compressor, error) {
	dense, err := zstd.NewEncoder(levelDense)
	if err != nil {
		return nil, fmt.Errorf("make compressor adaptive:entropy: %w", err)
	}
	fast, err := zstd.NewEncoder(levelFast)
	if err != nil {
		return nil, fmt.Errorf("make compressor adaptive:entropy: %w", err)
	}
	return &entropy{lz4: new(lz4.Encoder), dense: dense, fast: fast}, nil
}

func (c *entropy) Compress(dst, page []byte) (ID, int, error) {
	if err := checkBuffers(dst, page); err != nil {
		return None, 0, err
	}
	switch h := pagescan.Entropy(page); {
	case h < entropyLZ4:
		return tryLZ4(c.lz4, dst[:maxObject], page)
	case h < entropyDense:
		return tryZstd(c.dense, dst[:maxObject], page)
	case h < entropyFast:
		return tryZstd(c.fast, dst[:maxObject], page)
	default:
		return Raw, PageSize, nil
	}
}

// tryLZ4 returns the LZ4 object of page, or Raw where it does not fit in dst.
func tryLZ4(enc *lz4.Encoder, dst, page []byte) (ID, int, error) {
	n, err := enc.Compress(dst, page)
	return kept(LZ4, n, err)
}

// tryZstd returns the zstd object of page, or Raw where it does not fit in dst.
func tryZstd(enc *zstd.Encoder, dst, page []byte) (ID, int, error) {
	n, err := enc.Compress(dst, page)
	return kept(Zstd, n, err)
}

// kept turns the answer of an encoder, which gives a length of 0 for what does not fit, into that of a Compressor.
func kept(id ID, n int, err error) (ID, int, error) {
	if err != nil {
		return None, 0, fmt.Errorf("compress page by %s: %w", id, err)
	}
	if n == 0 {
		return Raw, PageSize, nil
	}
	return id, n, nil
}
