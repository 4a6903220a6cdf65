// SPDX-License-Identifier: Apache-2.0

package lz4_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"

	"github.com/zramfs/zramfs/codec/lz4"
)

// A buffer goes to an object and back. The reader knows how many bytes the object stands for.
func Example() {
	data := bytes.Repeat([]byte("a record; "), 100)
	var encoder lz4.Encoder // one for each goroutine
	object := make([]byte, lz4.MaxObject)
	n, err := encoder.Compress(object, data)
	if err != nil {
		log.Fatal(err)
	}
	back := make([]byte, len(data))
	if err := lz4.Decompress(back, object[:n]); err != nil {
		log.Fatal(err)
	}
	fmt.Println(n < len(data)/10, bytes.Equal(back, data))
	// Output: true true
}

// With a shorter destination an object that would be longer is given up early: the caller stores
// the data as it is.
func ExampleEncoder_Compress_cap() {
	noise := make([]byte, 256)
	for i := range noise {
		noise[i] = byte(i)
	}
	var encoder lz4.Encoder
	n, err := encoder.Compress(make([]byte, len(noise)*3/4), noise)
	fmt.Println(n, err)
	// Output: 0 <nil>
}

// Fast trades a sixth of the ratio for a quarter of the time. The objects have the same format.
func ExampleNewEncoder() {
	encoder, err := lz4.NewEncoder(lz4.Options{Fast: true, SIMD: "generic"})
	if err != nil {
		log.Fatal(err)
	}
	object := make([]byte, lz4.MaxObject)
	n, err := encoder.Compress(object, make([]byte, lz4.MaxSize))
	if err != nil {
		log.Fatal(err)
	}
	page := make([]byte, lz4.MaxSize)
	fmt.Println(n < 64, lz4.Decompress(page, object[:n]))
	_, err = lz4.NewEncoder(lz4.Options{SIMD: "mmx"})
	fmt.Println(errors.Is(err, lz4.ErrUnavailable))
	// Output:
	// true <nil>
	// true
}

// An object that was cut short is an error.
func ExampleDecompress() {
	object := []byte{0x50, 'h', 'e', 'l', 'l', 'o'}
	data := make([]byte, 5)
	fmt.Println(lz4.Decompress(data, object), string(data))
	fmt.Println(errors.Is(lz4.Decompress(data, object[:4]), lz4.ErrCorrupt))
	// Output:
	// <nil> hello
	// true
}
