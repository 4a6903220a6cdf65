// SPDX-License-Identifier: Apache-2.0

package main

/*
#cgo LDFLAGS: -llz4
#cgo CFLAGS: -O2
#include <lz4.h>
#include <stdint.h>
#include <time.h>

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// Compresses n pages of 4096 bytes to slots that lie stride bytes apart. With times, also how long
// each page took.
static void lib_compress(const uint8_t *pages, int n, uint8_t *slots, int stride,
	int32_t *lengths, int64_t *times)
{
	for (int i = 0; i < n; i++) {
		int64_t start = times ? now() : 0;
		lengths[i] = LZ4_compress_default((const char *)pages + (size_t)i * 4096,
			(char *)slots + (size_t)i * stride, 4096, stride);
		if (times)
			times[i] = now() - start;
	}
}

// The way back. Returns the number of objects that did not give 4096 bytes.
static int lib_decompress(const uint8_t *slots, int n, int stride, const int32_t *lengths,
	uint8_t *pages, int64_t *times)
{
	int bad = 0;
	for (int i = 0; i < n; i++) {
		int64_t start = times ? now() : 0;
		bad += LZ4_decompress_safe((const char *)slots + (size_t)i * stride,
			(char *)pages + (size_t)i * 4096, lengths[i], 4096) != 4096;
		if (times)
			times[i] = now() - start;
	}
	return bad;
}

// One object to a destination of any size: what LZ4_decompress_safe answers.
static int lib_decode(const uint8_t *object, int length, uint8_t *page, int size)
{
	return LZ4_decompress_safe((const char *)object, (char *)page, length, size);
}

// The least time of two readings of the clock.
static int64_t lib_clock(void)
{
	int64_t least = 1000000;
	for (int i = 0; i < 1000; i++) {
		int64_t start = now(), took = now() - start;
		if (took < least)
			least = took;
	}
	return least;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"time"
)

// anchorName is what everything is compared with.
const anchorName = "liblz4"

var errRefused = errors.New("liblz4 refuses the object")

// libVersion returns liblz4's own, as in "1.9.4".
func libVersion() string {
	n := int(C.LZ4_versionNumber())
	return fmt.Sprintf("%d.%d.%d", n/10000, n/100%100, n%100)
}

// libCompress compresses the pages of b to its slots. Where times is not nil it also says how long
// each took.
func libCompress(b *batch, times []int64) error {
	C.lib_compress((*C.uint8_t)(&b.src[0]), C.int(b.n), (*C.uint8_t)(&b.slots[0]), slotSize, (*C.int32_t)(&b.lengths[0]), first(times))
	for i, n := range b.lengths[:b.n] {
		if n <= 0 {
			return fmt.Errorf("compress page %d by liblz4: it answers %d", i, n)
		}
	}
	return nil
}

// libDecompress is the way back, from b's slots to its out.
func libDecompress(b *batch, times []int64) error {
	bad := C.lib_decompress((*C.uint8_t)(&b.slots[0]), C.int(b.n), slotSize, (*C.int32_t)(&b.lengths[0]), (*C.uint8_t)(&b.out[0]), first(times))
	if bad != 0 {
		return fmt.Errorf("%d of %d: %w", bad, b.n, errRefused)
	}
	return nil
}

// libDecode decodes one object, of any bytes, to dst, and returns how many bytes came out.
func libDecode(dst, object []byte) (int, error) {
	if len(dst) == 0 {
		return 0, errRefused
	}
	var none [1]byte
	if len(object) == 0 {
		object = none[:0:1]
	}
	n := C.lib_decode((*C.uint8_t)(&object[:1][0]), C.int(len(object)), (*C.uint8_t)(&dst[0]), C.int(len(dst)))
	if n < 0 {
		return 0, errRefused
	}
	return int(n), nil
}

// libClock returns what two readings of its clock take.
func libClock() time.Duration { return time.Duration(C.lib_clock()) }

func first(times []int64) *C.int64_t {
	if times == nil {
		return nil
	}
	return (*C.int64_t)(&times[0])
}
