// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strings"
)

// Where the fields of union swap_header (include/linux/swap.h of the kernel) lie in the first page.
// The bytes before the version are left for a boot loader. The magic is the last thing in the page,
// so that a page of another size is not mistaken for a header.
const (
	offVersion  = 1024
	offLastPage = 1028
	offUUID     = 1036
	offLabel    = 1052

	uuidSize  = 16
	labelSize = 16 // one byte of it is for the closing NUL

	swapMagic   = "SWAPSPACE2"
	swapVersion = 1

	// minSwapPages is the least that mkswap(8) accepts.
	minSwapPages = 10
	// maxSwapPages is what the 32 bits of last_page can number.
	maxSwapPages = math.MaxUint32 + 1
)

// native is the byte order of the header: that of the machine which wrote it.
var native = binary.NativeEndian

// formatSwap writes the header for a kernel whose pages have pageSize bytes.
func formatSwap(w io.WriterAt, size uint64, label string, pageSize int) (string, error) {
	var uuid [uuidSize]byte
	rand.Read(uuid[:])               // ends the process rather than return an error
	uuid[6] = uuid[6]&0x0f | 0x40    // version 4 and
	uuid[8] = uuid[8]&0x3f | 0x80    // variant 1 of RFC 9562: a random UUID
	pages := size / uint64(pageSize) // a rest that fills no page cannot be used

	page, err := encodeSwapHeader(pages, uuid, label, pageSize)
	if err != nil {
		return "", err
	}
	if _, err := w.WriteAt(page, 0); err != nil {
		return "", err
	}
	if s, ok := w.(interface{ Sync() error }); ok {
		if err := s.Sync(); err != nil {
			return "", fmt.Errorf("sync: %w", err)
		}
	}
	return formatUUID(uuid), nil
}

// encodeSwapHeader returns the first page of a swap area with a number of pages.
func encodeSwapHeader(pages uint64, uuid [uuidSize]byte, label string, pageSize int) ([]byte, error) {
	if pages < minSwapPages || pages > maxSwapPages {
		return nil, fmt.Errorf("%w: a swap area has from %d to %d pages of %d bytes, not %d",
			ErrInvalid, minSwapPages, uint64(maxSwapPages), pageSize, pages)
	}
	if len(label) >= labelSize || strings.Contains(label, "\x00") {
		return nil, fmt.Errorf("%w: label %q has more than %d bytes or a NUL", ErrInvalid, label, labelSize-1)
	}
	page := make([]byte, pageSize)
	native.PutUint32(page[offVersion:], swapVersion)
	native.PutUint32(page[offLastPage:], uint32(pages-1))
	copy(page[offUUID:], uuid[:])
	copy(page[offLabel:], label)
	copy(page[pageSize-len(swapMagic):], swapMagic)
	return page, nil
}

// formatUUID returns the text form of RFC 9562: groups of 8, 4, 4, 4 and 12 hexadecimal digits.
func formatUUID(u [uuidSize]byte) string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
