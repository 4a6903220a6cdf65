// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log"

	"github.com/zramfs/zramfs/codec/page"
)

// records makes a page of structures, as memory holds them; those of page n begin at number n.
func records(n uint32) []byte {
	p := make([]byte, page.Size)
	for i := 0; i+32 <= len(p); i += 32 {
		binary.LittleEndian.PutUint64(p[i:], 0x7f8a_1c00_2000+uint64(i))
		binary.LittleEndian.PutUint32(p[i+16:], n)
		n++
	}
	return p
}

// A page goes to an object and back. The caller keeps the object's length, and a checksum: the
// format has none.
func Example() {
	p := records(0)
	var encoder page.Encoder // one for each goroutine
	object := make([]byte, page.MaxObject)
	n, err := encoder.Compress(object, p)
	if err != nil {
		log.Fatal(err)
	}
	if n == 0 { // it would be longer than page.MaxObject: store the page as it is
		log.Fatal("does not compress")
	}
	back := make([]byte, page.Size)
	if err := page.Decompress(back, object[:n]); err != nil {
		log.Fatal(err)
	}
	fmt.Println(n < page.Size/2, bytes.Equal(back, p))
	// Output: true true
}

// The dense level has encoders and decoders of its own, each for one goroutine.
func ExampleDenseEncoder() {
	p := records(0)
	var fast page.Encoder
	var dense page.DenseEncoder
	object, denser := make([]byte, page.MaxObject), make([]byte, page.MaxObject)
	n, err := fast.Compress(object, p)
	if err != nil {
		log.Fatal(err)
	}
	m, err := dense.Compress(denser, p)
	if err != nil {
		log.Fatal(err)
	}
	var decoder page.DenseDecoder
	back := make([]byte, page.Size)
	if err := decoder.Decompress(back, denser[:m]); err != nil {
		log.Fatal(err)
	}
	fmt.Println(m < n, bytes.Equal(back, p))
	// Output: true true
}

// Neighbours take fewer bytes together, and each of them can be read alone. A page may be
// absent.
func ExampleClusterEncoder() {
	var pages [page.ClusterPages][]byte
	for i := range pages {
		pages[i] = records(uint32(i * 128))
	}
	pages[5] = nil
	var encoder page.ClusterEncoder
	object := make([]byte, page.MaxClusterObject)
	n, err := encoder.CompressCluster(object, pages)
	if err != nil {
		log.Fatal(err)
	}
	var decoder page.ClusterDecoder
	back := make([]byte, page.Size)
	if err := decoder.DecompressCluster(back, 2, object[:n]); err != nil {
		log.Fatal(err)
	}
	fmt.Println(bytes.Equal(back, pages[2]))
	// Output: true
}

// An encoder can be held to fewer instructions than the machine has; the objects are the same.
func ExampleNewEncoder() {
	_, err := page.NewEncoder("generic")
	fmt.Println(err)
	_, err = page.NewEncoder("mmx")
	fmt.Println(errors.Is(err, page.ErrUnavailable))
	// Output:
	// <nil>
	// true
}

// Whatever is in an object, decompressing ends with a page or an error.
func ExampleDecompress() {
	back := make([]byte, page.Size)
	err := page.Decompress(back, []byte("no object"))
	fmt.Println(errors.Is(err, page.ErrCorrupt))
	// Output: true
}
