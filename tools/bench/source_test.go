// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/pages"
)

// Every page holds what was written, and a page in the place of another, or with a
// bit turned over anywhere, does not.
func TestSourceFindsWrongPages(t *testing.T) {
	pool := bytes.Join(append(pages.Mix(30, 5), make([]byte, codec.PageSize)), nil)
	count := len(pool) / codec.PageSize
	s := newSource(pool)
	page, other := make([]byte, codec.PageSize), make([]byte, codec.PageSize)
	for number := range 3 * count {
		s.write(page, number)
		if !s.holds(page, number) {
			t.Fatalf("page %d does not hold what was written", number)
		}
		s.write(other, number+count) // of the same page of the pool
		same := s.same[number%count]
		if s.holds(other, number) != same {
			t.Errorf("page %d in the place of %d: found out %t, same-filled %t", number+count, number, same, same)
		}
		for _, at := range []int{0, stampAt - 1, stampAt, codec.PageSize - 1} {
			page[at] ^= 0x10
			if s.holds(page, number) {
				t.Errorf("page %d with byte %d changed passes", number, at)
			}
			page[at] ^= 0x10
		}
	}
}

// A same-filled page stays one, and other pages stay the pool's but for the stamp.
func TestSourceKeepsPages(t *testing.T) {
	pool := append(bytes.Repeat([]byte("real"), codec.PageSize/4), make([]byte, codec.PageSize)...)
	pool[codec.PageSize+7] = 1
	s := newSource(pool)
	page := make([]byte, codec.PageSize)
	s.write(page, 2)
	if !bytes.Equal(page, pool[:codec.PageSize]) {
		t.Error("a same-filled page was changed")
	}
	s.write(page, 1)
	if !bytes.Equal(page[:stampAt], pool[codec.PageSize:][:stampAt]) {
		t.Error("a page was changed before its stamp")
	}
}
