// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// roundPages is how many pages a round has: enough that a contestant's tables and the branch
// predictor settle, few enough that a round of all contestants is over before the machine changes
// its speed.
const roundPages = 512

// anchorEvery is after how many contestants liblz4 has its turn again.
const anchorEvery = 4

// A speed is bytes of pages a second of processor time.
type speed struct{ pack, unpack float64 }

// A series is what one contestant did, round for round.
type series struct {
	speeds []speed // its own
	ratios []speed // over liblz4's of the same round
}

// medians returns the middle of the rounds' speeds and of their ratios.
func (s *series) medians() (speeds, ratios speed) {
	return middle(s.speeds), middle(s.ratios)
}

func middle(all []speed) speed {
	var pack, unpack []float64
	for _, s := range all {
		pack, unpack = append(pack, s.pack), append(unpack, s.unpack)
	}
	return speed{median(pack), median(unpack)}
}

// median returns the middle of values, of an even number the mean of the middle two, 0 where there
// are none. It sorts them.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[len(values)/2] + values[(len(values)-1)/2]) / 2
}

// A limit says how long to go on: for a number of rounds, or where that is 0 until the time is up.
type limit struct {
	rounds int
	end    time.Time
}

func (l limit) reached(done int) bool {
	if l.rounds > 0 {
		return done >= l.rounds
	}
	return done >= 3 && time.Now().After(l.end)
}

// measure runs rounds of all contestants over the pages of s and returns each one's series, in
// their order.
func measure(s sample, all []*contestant, limit limit) ([]series, int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b := newBatch(roundPages)
	result := make([]series, len(all))
	order := rand.New(rand.NewPCG(uint64(len(s.pages)), 1))
	step := max(1, len(s.pages)/roundPages)
	done := 0
	for ; !limit.reached(done); done++ {
		if done%16 == 0 {
			runtime.GC()
		}
		b.load(s.pages, done, step)
		// The first round warms the processor and every contestant's state.
		if err := round(b, all, order.Perm(len(all)), result, done > 0 || limit.rounds == 1); err != nil {
			return nil, done, err
		}
	}
	return result, done, nil
}

// round gives every contestant its turn in the given order and liblz4 one in between, and appends
// the figures to result if they are to be kept.
func round(b *batch, all []*contestant, order []int, result []series, keep bool) error {
	lib := anchor()
	var anchors []speed
	figures := make([]speed, len(all))
	for at, i := range order {
		if at%anchorEvery == 0 {
			s, err := turn(b, lib)
			if err != nil {
				return err
			}
			anchors = append(anchors, s)
		}
		s, err := turn(b, all[i])
		if err != nil {
			return err
		}
		figures[i] = s
	}
	if !keep {
		return nil
	}
	base := middle(anchors)
	for i, s := range figures {
		result[i].speeds = append(result[i].speeds, s)
		result[i].ratios = append(result[i].ratios, speed{s.pack / base.pack, s.unpack / base.unpack})
	}
	return nil
}

// turn lets one contestant compress and decompress the batch.
func turn(b *batch, c *contestant) (speed, error) {
	pack, err := timed(func() error { return c.pack(b) })
	if err != nil {
		return speed{}, fmt.Errorf("%s: %w", c.name, err)
	}
	if c.settle != nil {
		c.settle(b)
	}
	unpack, err := timed(func() error { return c.unpack(b) })
	if err != nil {
		return speed{}, fmt.Errorf("%s: %w", c.name, err)
	}
	bytes := float64(b.n * codec.PageSize)
	return speed{bytes / pack.Seconds(), bytes / unpack.Seconds()}, nil
}

// timed returns the processor time that f takes of this thread.
func timed(f func() error) (time.Duration, error) {
	before, err := threadTime()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := threadTime()
	return max(after-before, 1), err
}
