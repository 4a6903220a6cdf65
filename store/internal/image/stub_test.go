// SPDX-License-Identifier: Apache-2.0

package image

import (
	"math/bits"
	"testing"

	"github.com/zramfs/zramfs/codec"
)

func TestStubRoundTrip(t *testing.T) {
	s := Stub{Serial: 1<<40 + 7, Tag: [16]byte{1, 15: 2}, Block: 1<<32 - 1, Length: PageSize, Codec: codec.Raw}
	p := s.Append(nil)
	if len(p) != StubSize {
		t.Fatalf("%d bytes, the format has %d", len(p), StubSize)
	}
	if got, ok := DecodeStub(p); !ok || got != s {
		t.Errorf("%+v reads as %+v, %v", s, got, ok)
	}
	for name, bad := range map[string]func(p []byte) []byte{
		"short":     func(p []byte) []byte { return p[:StubSize-1] },
		"no serial": func(p []byte) []byte { clear(p[:8]); return p },
		"no length": func(p []byte) []byte { p[28], p[29] = 0, 0; return p },
		"too long":  func(p []byte) []byte { p[28], p[29] = 1, 16; return p },
		"unused":    func(p []byte) []byte { p[31] = 1; return p },
	} {
		if _, ok := DecodeStub(bad(s.Append(nil))); ok {
			t.Errorf("%s: taken for a stub", name)
		}
	}
}

// No single bit makes an entry of another kind of a stub's.
func TestStubIsApart(t *testing.T) {
	for _, id := range []codec.ID{SameSmall, SameHalf, SameSlot, 31} {
		if n := bits.OnesCount8(uint8(id ^ WrittenBack)); id != 31 && n < 2 {
			t.Errorf("codec %d differs in %d bits", id, n)
		}
	}
	if e := ObjectEntry(8, WrittenBack, StubSize); !e.Object() || !e.WrittenBack() || !e.Valid(1) {
		t.Errorf("%#x is no entry of a stub", e)
	}
}
