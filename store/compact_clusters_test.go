// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// wideClusters is a store of clusters so large that a segment loses more than worthMoving at its
// end, and more in all than the garbage that compaction aims at.
func wideClusters(t *testing.T) (*Store, [][]byte) {
	t.Helper()
	s := mustCreate(t, Config{Disksize: 64 << 20, Algorithm: algorithm(t, "page:dense"), Workers: 4})
	newCalendar(s)
	rng, data := rand.New(rand.NewPCG(3, 4)), make([][]byte, s.Pages())
	common := noise(rng, 300)
	for page := range data {
		if page < image.ClusterPages {
			data[page] = append(append(append([]byte{}, common...), noise(rng, 2700)...), make([]byte, 1096)...)
		}
		data[page] = data[page%image.ClusterPages]
		write(t, s, uint64(page), data[page])
	}
	c := clusterer(t, s)
	if err := c.prepare(); err != nil {
		t.Fatal(err)
	}
	length := 0
	for first := uint64(0); first < s.Pages(); first += image.ClusterPages {
		members, _ := c.gather(first)
		if length == 0 { // they are all alike, and compressing takes long
			n, err := c.compress(members)
			if err != nil {
				t.Fatal(err)
			}
			length = image.ClusterLength(n)
			clear(c.packed[n:length])
		}
		if err := c.publish(first, members, c.packed[:length]); err != nil {
			t.Fatal(err)
		}
	}
	if st := s.Stats().Codecs[codec.PageDenseCluster]; st.Pages < s.Pages() || image.SegmentSize%image.Footprint(length) < 2*worthMoving {
		t.Fatalf("%+v of %d pages, each of %d bytes", st, s.Pages(), length)
	}
	return s, data
}

// Compaction comes to rest where the ends of segments are all that is unused: the same objects
// leave as much of them wherever they go. So it does after the store was opened again.
func TestCompactionOfClustersEnds(t *testing.T) {
	s, data := wideClusters(t)
	for _, again := range []bool{false, true} {
		if again {
			s.die()
			var err error
			if s, err = Open(s.memory, s.cfg); err != nil {
				t.Fatal(err)
			}
		}
		end := s.unmaintained()
		before := s.compacts.Load()
		for passes := 0; s.pass(time.Hour) != 0 && passes < 200; passes++ {
			// until there is nothing to do
		}
		if gained := s.compacts.Load() - before; gained > s.used()/10 {
			t.Errorf("opened again: %v: compaction has counted %d bytes as given back, of %d in use", again, gained, s.used())
		}
		unchanged(t, s, data)
		end()
	}
	discard(s, 0, s.Pages())
	finish(t, s)
}

// Below a lowered limit packing goes on as well, and writes learn that there is no room.
func TestPackingOfClustersBelowALoweredLimitEnds(t *testing.T) {
	s, data := wideClusters(t)
	end := s.unmaintained()
	s.limit.Store(uint64(s.used()) / 2)
	done := make(chan error, 1)
	go func() {
		n, err := s.overdraw()
		if err == nil {
			err = s.release(n, segOpen, 0)
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, ErrFull) {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it compacts for ever")
		s.base.footprint.Add(1 << 40)
		<-done
		s.base.footprint.Add(-1 << 40)
	}
	end()
	defer finish(t, s)
	eventually(t, "a write fails", func() bool { return errors.Is(writeOrFail(s, 0, data[0]), ErrFull) })
	eventually(t, "the store is full", s.full.Load)
	unchanged(t, s, data)
	s.SetMemLimit(0)
	write(t, s, 0, data[0])
}
