// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/internal/pages"
)

// The CPU's encoder keeps within its destination to the byte, and what it makes is an LZ4 block of
// the page.
func TestEncoderKeepsWithinItsDestination(t *testing.T) {
	var e Encoder
	var back [PageSize]byte
	for i, p := range append(hardPages(), pages.Mix(300, 3)...) {
		object := make([]byte, PageSize)
		n := e.Compress(object, p)
		if n == 0 {
			continue // noise
		}
		if err := lz4.Decompress(back[:], object[:n]); err != nil || !bytes.Equal(back[:], p) {
			t.Fatalf("page %d does not come back: %v", i, err)
		}
		exact := make([]byte, n, n+1)
		if got := e.Compress(exact, p); got != n || !bytes.Equal(exact, object[:n]) {
			t.Errorf("page %d: %d bytes where there are %d", i, got, n)
		}
		short := bytes.Repeat([]byte{0xAA}, n)
		if got := e.Compress(short[:n-1], p); got != 0 || short[n-1] != 0xAA {
			t.Errorf("page %d: %d bytes where there are %d, and %#x behind", i, got, n-1, short[n-1])
		}
	}
}

func TestEncoderDoesNotAllocate(t *testing.T) {
	var e Encoder
	p, object := pages.Generate(pages.Text, 1, 1)[0], make([]byte, PageSize)
	if n := testing.AllocsPerRun(100, func() { e.Compress(object, p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEncoder(b *testing.B) {
	var e Encoder
	all, object := pages.Mix(500, 4), make([]byte, PageSize)
	b.SetBytes(PageSize)
	for i := 0; b.Loop(); i++ {
		e.Compress(object, all[i%len(all)])
	}
}
