// SPDX-License-Identifier: Apache-2.0

package page

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

func TestPagesAllocateNothing(t *testing.T) {
	object, back := make([]byte, Size), make([]byte, Size)
	eachCoding(t, func(t *testing.T, p coding) {
		base := codectest.Generated()
		i := 0
		allocs := testing.AllocsPerRun(len(base), func() {
			limit := Size
			if i%4 == 0 {
				limit = 1000
			}
			n, err := p.enc.Compress(object[:limit], base[i%len(base)])
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				if err := p.dec.Decompress(back, object[:n]); err != nil {
					t.Fatal(err)
				}
			}
			i++
		})
		if allocs != 0 {
			t.Errorf("%v allocations a page", allocs)
		}
	})
}

// F030: no two encoders have a line of the processor's cache in common, so that workers do not take
// it from each other with each byte in their streams. The allocator sees to that for what is so
// large.
func TestF030EncodersShareNoCacheLine(t *testing.T) {
	const line = 64
	owner := map[uintptr]int{}
	var all []*Encoder
	for i := range 200 {
		enc, err := NewEncoder("")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, enc) // none of them may be given back before the end
		v := reflect.ValueOf(enc)
		for at := v.Pointer() / line; at <= (v.Pointer()+v.Type().Elem().Size()-1)/line; at++ {
			if other, ok := owner[at]; ok {
				t.Fatalf("encoders %d and %d share a line", other, i)
			}
			owner[at] = i
		}
	}
	runtime.KeepAlive(all)
}
