// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"github.com/zramfs/zramfs/codec"
)

func TestMemoryIsScarceFromSevenEighths(t *testing.T) {
	for _, c := range []struct {
		used, most int64
		want       bool
	}{
		{0, 800, false}, {699, 800, false}, {700, 800, true}, {800, 800, true}, {900, 800, true}, {1 << 60, 1 << 62, false}, {1 << 62, 1 << 62, true},
	} {
		if got := scarce(c.used, c.most); got != c.want {
			t.Errorf("%d of %d bytes: %v", c.used, c.most, got)
		}
	}
}

// stored counts the pages that one request of an effort stores by each codec, and discards them
// again.
func stored(t *testing.T, s *Store, effort int) [codecs]CodecStats {
	t.Helper()
	w := s.Acquire()
	w.SetEffort(effort)
	for page := range uint64(64) {
		if err := w.Write(page, 0, content{uint32(page), 1, compressible}.bytes()); err != nil {
			t.Fatal(err)
		}
	}
	got := s.Stats().Codecs
	w.Discard(0, 64)
	w.Release()
	return got
}

// A device with time packs tight, one without goes fast, and one whose memory is nearly used packs
// tight all the same.
func TestF057LoadChoosesTheCodec(t *testing.T) {
	for _, c := range []struct {
		name   string
		full   bool
		effort int
		want   codec.ID
	}{
		{"idle", false, codec.MaxEffort, codec.PageDense},
		{"busy", false, 0, codec.Page},
		{"busy, and near the limit", true, 0, codec.PageDense},
		{"idle, and near the limit", true, codec.MaxEffort, codec.PageDense},
	} {
		s := newStore(t, Config{Disksize: 64 << 20, MemLimit: limitOf(64<<20, 40)})
		for page := s.Pages() - 1; c.full && !scarce(s.used(), s.maxMemory()); page-- {
			if err := tryWrite(s, page, 1); err != nil {
				t.Fatal(err)
			}
		}
		if got := stored(t, s, c.effort); got[c.want].Pages != 64 {
			t.Errorf("%s: %d pages by %s, %d by %s, want all 64 by %s", c.name, got[codec.Page].Pages, codec.Page,
				got[codec.PageDense].Pages, codec.PageDense, c.want)
		}
	}
}

// The effort of one request does not hold for the next.
func TestEffortEndsWithTheRequest(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20})
	w := s.Acquire()
	w.SetEffort(0)
	w.Release()
	w = s.Acquire()
	defer w.Release()
	if err := w.Write(0, 0, content{0, 1, compressible}.bytes()); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats().Codecs; got[codec.PageDense].Pages != 1 {
		t.Errorf("stored by %v", got)
	}
}

// A caller that names a codec gets it, idle or not.
func TestFixedAlgorithmIgnoresTheLoad(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20, Algorithm: algorithm(t, "page")})
	if got := stored(t, s, codec.MaxEffort); got[codec.Page].Pages != 64 {
		t.Errorf("%d of 64 pages by %s", got[codec.Page].Pages, codec.Page)
	}
}
