// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"errors"
	"strconv"
)

// PageSize is the length in bytes of every page: that of the machines this runs on, and of a zram
// page.
const PageSize = 4096

// maxObject is the length in bytes of the longest object that is kept; the package comment says
// why.
const maxObject = PageSize - PageSize/16

// An ID says how an object was made. It is stored with the object, in 5 bits, so the numbers are
// part of the image's format: they never change and are never reused.
type ID uint8

// The codecs. IDs 9 to 26 are free for later formats, 27 belongs to the store's stubs of pages on a
// backing device, and 28 to 31 to its same-filled entries.
const (
	// None is the ID of a page that has no object. Nothing compresses to it, and it cannot be
	// decompressed.
	None ID = 0
	// Raw is the page itself, PageSize bytes.
	Raw ID = 1
	// LZ4 is one LZ4 block, see package lz4.
	LZ4 ID = 2
	// Zstd is one Zstandard block without a frame header, see package zstd.
	Zstd ID = 3
	// Page is our own format for pages, see package page.
	Page ID = 4
	// PageDense is the same at its dense level.
	PageDense ID = 5
	// ZstdDict is like Zstd, made with the device's dictionary.
	ZstdDict ID = 6
	// PageDenseCluster is up to ClusterPages pages together at the dense level of package
	// page.
	PageDenseCluster ID = 7
	// ZstdCluster is reserved: clusters by zstd, which nothing ever stored. Nothing makes or
	// reads them.
	ZstdCluster ID = 8
)

// idNames holds each codec's name for people.
var idNames = [...]string{
	None: "none", Raw: "raw", LZ4: "lz4", Zstd: "zstd", Page: "page", PageDense: "page:dense", ZstdDict: "zstd with dictionary",
	PageDenseCluster: "page:dense cluster", ZstdCluster: "zstd cluster",
}

// String returns the codec's name for people, as in "lz4", or "id 9" for one that this version does
// not know.
func (id ID) String() string {
	if int(id) < len(idNames) {
		return idNames[id]
	}
	return "id " + strconv.Itoa(int(id))
}

var (
	// ErrUnknownAlgorithm reports a text that names no algorithm, or an [Algorithm] that [Parse]
	// did not return.
	ErrUnknownAlgorithm = errors.New("unknown algorithm")
	// ErrPageSize reports a page, to compress or to decompress to, that is not of PageSize bytes.
	ErrPageSize = errors.New("page is not of 4096 bytes")
	// ErrBuffer reports a buffer for an object that is shorter than PageSize bytes.
	ErrBuffer = errors.New("object buffer is shorter than 4096 bytes")
	// ErrCorrupt reports an object that cannot be what its ID says, or an ID that no object can
	// have.
	ErrCorrupt = errors.New("corrupt object")
)

// A Compressor turns pages into objects by one algorithm. It belongs to one worker: it is not safe
// for concurrent use. It allocates nothing after it is made, and each object depends on its page
// and its codec alone, not on the pages before.
type Compressor interface {
	// Compress writes the object of page to dst and returns its codec and its length in bytes, 1 to
	// PageSize.
	//
	// For [Raw] it returns PageSize and does not copy: the caller stores page itself, and the
	// contents of dst mean nothing. Otherwise dst[:length] is the object. Nothing is written beyond
	// the first PageSize bytes of dst. The page must not change during the call, and the two
	// buffers must not overlap.
	//
	// It returns [ErrPageSize] if page is not of PageSize bytes and [ErrBuffer] if dst is shorter
	// than that. Any other error is a defect in a compression library; the page can still be stored
	// raw.
	Compress(dst, page []byte) (ID, int, error)
}
