// SPDX-License-Identifier: Apache-2.0

//go:build invariants || race

package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/invariant"
)

// A life is a process that works on an image until it dies at a point.
type life struct {
	t    *testing.T
	mem  *Memory
	cfg  Config
	j    journal
	seed uint64
	idle bool // at its end it discards everything and waits for the maintainer
}

// dieAt lives until the point is met for the nth time by any goroutine; then every
// goroutine ends at the next point it meets, and the image stays as it is. It
// reports whether it came to that.
func (l *life) dieAt(point string, nth int64, open func(*Memory, Config) (*Store, error)) bool {
	var met atomic.Int64
	var dead atomic.Bool
	invariant.Hook(func(name string) {
		if dead.Load() || name == point && met.Add(1) == nth {
			dead.Store(true)
			runtime.Goexit()
		}
	})
	defer invariant.Hook(nil)
	var s *Store
	lived := make(chan struct{})
	go func() {
		defer close(lived)
		var err error
		if s, err = open(l.mem, l.cfg); err != nil {
			l.t.Error(err)
			return
		}
		l.work(s, &dead)
	}()
	<-lived
	if s != nil {
		s.die()
	} else if err := l.mem.unmap(); err != nil {
		l.t.Error(err)
	}
	return dead.Load()
}

// work does random operations until it dies, or for so long that the point cannot
// be one that this device meets.
func (l *life) work(s *Store, dead *atomic.Bool) {
	if err := l.j.settle(s); err != nil {
		l.t.Error(err)
		return
	}
	rng := rand.New(rand.NewPCG(l.seed, 1))
	for version := range uint32(6_000) {
		if dead.Load() { // the maintainer met the point
			return
		}
		if version%500 == 250 {
			l.operator(s)
		}
		i := rng.Uint64N(uint64(len(l.j.held)))
		if err := l.j.operate(s, rng, i, uint32(l.seed)<<16+version); err != nil {
			l.t.Error(err)
			return
		}
	}
	for i := range l.j.held {
		if l.idle && !dead.Load() {
			if err := l.j.discard(s, uint64(i)); err != nil {
				l.t.Error(err)
			}
		}
	}
	for deadline := time.Now().Add(5 * time.Second); l.idle && !dead.Load() && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
}

// operator has what is stored recompressed, or written back.
func (l *life) operator(s *Store) {
	cfg := RecompressConfig{Algorithm: algorithm(l.t, "zstd(level=1)")}
	if _, err := s.Recompress(context.Background(), cfg); err != nil && !errors.Is(err, ErrFull) {
		l.t.Error(err)
	}
	if err := joinSome(s, 2); err != nil && !errors.Is(err, ErrFull) {
		l.t.Error(err)
	}
	if s.cfg.Backing != nil {
		if _, err := s.WriteBack(everything); err != nil && !errors.Is(err, ErrBackingFull) && !errors.Is(err, ErrFull) {
			l.t.Error(err)
		}
	}
}

// survives opens the image as it is and demands that everything is right.
func (l *life) survives() {
	s, err := Open(l.mem, l.cfg)
	if err != nil {
		l.t.Fatal(err)
	}
	if err := l.j.settle(s); err != nil {
		l.t.Error(err)
	}
	finish(l.t, s)
}

// Killed at any point of the page path, of maintenance, or of Open after another
// death, a process leaves an image that holds every page as it was or as it was to
// be, and all invariants once it is open again.
func TestEveryPointOfDeath(t *testing.T) {
	small, limited := Config{Disksize: 4 << 20}, Config{Disksize: 4 << 20, MemLimit: limitOf(4<<20, 8)}
	backed := limited
	backed.Backing = newBacking(t, 600)
	huge := Config{Disksize: steppedDisk, MaxMemory: 1 << 28}
	for _, c := range []struct {
		point string
		cfg   Config
	}{
		{"superblock written", small}, {"index adopted", small}, {"unused segments given back", small},
		{"room found", small}, {"object begun", small}, {"object without checksum", small},
		{"entry to be published", small}, {"entry published", small},
		{"object to be cleared", small}, {"object cleared but for its header", small}, {"object cleared", small},
		{"word without complement", small}, {"word referenced", small},
		{"word to be cleared", small}, {"word half cleared", small},
		{"segment taken", small}, {"segment given back", limited}, {"segment cleared", limited},
		{"object copied", limited}, {"object moved", limited},
		{"segment's end swept", small}, {"dead object to be swept", small},
		{"object recompressed", small}, {"recompressed object published", small},
		{"page to be joined", small}, {"page joined", small}, {"object moved for another page", limited},
		{"page of a cluster placed", backed}, {"page taken out of its cluster", backed},
		{"blocks to be written", backed}, {"blocks written", backed}, {"stub placed", backed}, {"page written back", backed},
		{"object moved", backed}, {"object cleared", backed},
		{"index page taken", huge}, {"index page noted", huge}, {"index page leaves", huge}, {"index page given back", huge},
	} {
		for _, nth := range []int64{1, 19} {
			if testing.Short() && nth != 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s %d", c.point, nth), func(t *testing.T) {
				l := life{t: t, mem: newMemory(t), cfg: withAlgorithm(t, c.cfg)}
				l.j = newJournal(1024, c.cfg.Disksize/PageSize/1024)
				l.idle = slices.Contains([]string{"segment given back", "index page leaves", "index page given back"}, c.point)
				l.dieThreeTimes(c.point, nth)
			})
		}
	}
}

// dieThreeTimes dies at the point in the first process and twice more in those
// that carry on, where there is a first time it was somewhere else.
func (l *life) dieThreeTimes(point string, nth int64) {
	reached := false
	for i, open := range []func(*Memory, Config) (*Store, error){Create, Open, Open} {
		l.seed++
		if i == 1 { // died with much to sweep
			l.dieAt("entry published", 700, open)
			l.seed++
		}
		if l.dieAt(point, nth, open) {
			reached = true
		}
	}
	if !reached && nth == 1 {
		l.t.Error("the point was not met")
	}
	l.survives()
}
