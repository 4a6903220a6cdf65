// SPDX-License-Identifier: Apache-2.0

package zswap

import (
	"errors"
	"time"

	"github.com/zramfs/zramfs/internal/host"
)

const (
	pageSize = 4096

	// look is the time between two looks at what zswap holds.
	look = time.Minute
	// idleAge is the age in looks from which on a page in zswap is idle, and shortAge that while
	// memory is short. A page that is used again costs one read from the device in that time at
	// most, some 15 us more than one from zswap: for a GiB of pages that are all used again, 0.2 %
	// of the time of a processor, or 1.3 %.
	idleAge  = 30
	shortAge = 5
	// Memory is short while less than one part in shortShare of it is available.
	shortShare = 5
	// A drain is worth its time from one part in leastIdle of the pages on.
	leastIdle = 8
)

// A mover finds how many pages of zswap are idle. One goroutine uses it.
type mover struct {
	machine host.Root
	// stores are the pages that zswap has taken since the machine booted, at the last looks, the
	// latest last.
	stores []uint64
	rest   int // looks to leave out
}

// MoveIdle moves idle pages from zswap to the device behind it, where they take half the memory,
// until the process ends. The kernel does so by itself only under pressure in cgroup v2
// (shrinker_enabled), or once the pool is full. lock is called while a parameter of zswap has
// another value for moments, and its result after that.
func MoveIdle(m host.Root, lock func() (release func())) {
	mover := &mover{machine: m}
	for ; ; time.Sleep(look) {
		limit, pages, ok := mover.look()
		if !ok {
			continue
		}
		if moved, err := Drain(m, limit, pages, lock); err != nil || !moved {
			mover.rest = idleAge // as where the groups of all pages forbid writeback
		}
	}
}

// look returns the limit in per cent of RAM to which the pool is to shrink, and how many pages are
// to stay; ok is false if there is nothing to do.
func (v *mover) look() (limit int, pages uint64, ok bool) {
	use := v.machine.ZswapUse()
	v.stores = append(v.stores, use.Stores)
	if len(v.stores) > idleAge+1 {
		v.stores = v.stores[1:]
	}
	if v.rest > 0 {
		v.rest--
		return 0, 0, false
	}
	total, err := v.machine.MemTotal()
	if err != nil || total < 100 {
		return 0, 0, false
	}
	age := idleAge
	if available, err := v.machine.MemAvailable(); err == nil && available < total/shortShare {
		age = shortAge
	}
	if len(v.stores) <= age {
		return 0, 0, false
	}
	held := use.Held / pageSize
	// Some of these were read since: then there are more idle pages than it finds.
	young := min(held, use.Stores-v.stores[len(v.stores)-1-age])
	if held == 0 || held-young < max(1, held/leastIdle) {
		return 0, 0, false
	}
	if young > 0 { // 0 per cent would write young pages back too
		limit = int(float64(use.Pool)*float64(young)/float64(held)/float64(total/100)) + 1
	}
	return limit, young, uint64(limit)*(total/100) < use.Pool
}

// Drain writes pages back until the pool is below limit per cent of RAM, or holds no more than that
// many pages, and reports whether it has come that far.
//
// The kernel begins to write back when it is to store a page in a pool that is at its limit, down
// to that limit, and ends after 16 pages that it passes by: it passes each by once after it was
// stored (shrink_worker and shrink_memcg_cb in mm/zswap.c). So Drain lowers the limit, has a page
// of its own swapped out, and sets the limit back before the kernel is done, over and over. Pages
// of programs that are swapped out in that fraction of a millisecond go to the device.
func Drain(m host.Root, limit int, pages uint64, lock func() (release func())) (done bool, err error) {
	const (
		passed = 16 // pages that the kernel passes by for each page swapped out
		batch  = 32 // of pages swapped out from one look to the next
	)
	total, err := m.MemTotal()
	if err != nil {
		return false, err
	}
	t, err := newTrigger(m, limit)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	// All pages are passed by once, and found once more.
	for n := 2*(m.ZswapUse().Held/pageSize/passed) + batch; ; n -= batch {
		use := m.ZswapUse()
		if use.Held/pageSize <= pages || limit > 0 && use.Pool <= uint64(limit)*(total/100) {
			return true, nil
		}
		if n < batch {
			return false, nil
		}
		if err := t.pull(batch, lock); err != nil {
			return false, err
		}
	}
}
