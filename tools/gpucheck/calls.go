// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/ptx"
)

// calls is a step: copies, launches, streams, threads and the pool.
func (r *rig) calls() error {
	return r.onDevice(func(d *device) error {
		for _, f := range []func(*device) error{r.roundTrip, r.launchCost, r.manyStreams, r.pool, r.randomPool, r.fourThreads} {
			if err := errors.Join(f(d), r.ctx.Err()); err != nil {
				return err
			}
		}
		return nil
	})
}

// roundTrip is H3.
func (r *rig) roundTrip(d *device) error {
	sent, got := make([]byte, r.linkBytes), make([]byte, r.linkBytes)
	r.source.fill(sent, 3)
	p, err := d.place("sent", sent)
	if err != nil {
		return err
	}
	if err := errors.Join(d.download(got, p), d.release()); err != nil {
		return err
	}
	if !bytes.Equal(got, sent) {
		return fmt.Errorf("%d bytes to the device and back: %w", len(sent), errWrong)
	}
	r.proved("H3", "to the device and back", fmt.Sprintf("%d MB are the same", len(sent)/1e6))
	return nil
}

// launchesAtOnce is the number of launches between two waits for the device: fewer than it queues.
const launchesAtOnce = 400

// launchCost is H4 and H11, if there is a loop in C to compare with.
func (r *rig) launchCost(d *device) error {
	own, err := r.ownLoop(d)
	if err != nil {
		return err
	}
	r.figure("a launch, all told", own.launch, "ns")
	r.figure("a round of copy, kernel, copy and wait", own.round, "ns")
	calls := r.launches
	start := time.Now()
	for range calls {
		if err := d.Do(func(*driver.Thread) error { return nil }); err != nil {
			return err
		}
	}
	r.figure("a Do", float64(time.Since(start).Nanoseconds())/float64(calls), "ns")
	if r.loop == "" {
		r.tell(finding{Criterion: "H4 H11", What: "the same in C", Text: "not compared: there is no C loop"})
		return nil
	}
	c, err := r.cLoop()
	if err != nil {
		return err
	}
	r.figure("a launch, in C", c.launch, "ns")
	r.most("H4", "a launch, beyond what it takes in C", own.launch-c.launch, "ns", 2000)
	r.most("H11", "a round, beside one in C", own.round/c.round, "", 1.05)
	return nil
}

// manyStreams is H10 and F043: copies in, kernels and copies out on several streams at once.
func (r *rig) manyStreams(d *device) error {
	return r.onLink(d, func(c *linkCheck) error {
		one, err := c.stages(1)
		if err != nil {
			return err
		}
		four, err := c.stages(4)
		if err != nil {
			return err
		}
		c.least("H10 F043", "four streams beside one", one.Seconds()/four.Seconds(), "", 1.5)
		return nil
	})
}

// The rounds of stages, and the time each kernel spins: about as long as a copy.
const (
	stageRounds = 64
	spinRounds  = 20_000
)

// A lane is a stream and the event at its end.
type lane struct {
	stream driver.Stream
	end    driver.Event
}

// stages does rounds of three stages on a number of streams and returns how long they took.
func (c *linkCheck) stages(streams int) (took time.Duration, err error) {
	k, err := build(spinKernel)
	if err != nil {
		return 0, err
	}
	lanes := make([]lane, streams)
	err = c.Do(func(t *driver.Thread) (err error) {
		for i := range lanes {
			if lanes[i].stream, err = t.NewStream(); err != nil {
				return err
			}
			if lanes[i].end, err = t.NewEvent(); err != nil {
				return err
			}
		}
		_, err = t.Load(k[0])
		return err
	})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	err = c.Do(func(t *driver.Thread) error { return c.fillLanes(t, lanes, k[0]) })
	for _, l := range lanes {
		err = errors.Join(err, c.Wait(l.end))
	}
	took = time.Since(start)
	return took, errors.Join(err, c.Do(func(t *driver.Thread) error {
		var errs []error
		for _, l := range lanes {
			errs = append(errs, t.CloseStream(l.stream), t.CloseEvent(l.end))
		}
		return errors.Join(errs...)
	}))
}

// fillLanes queues the rounds, stream by stream in turn.
func (c *linkCheck) fillLanes(t *driver.Thread, lanes []lane, k *ptx.Kernel) error {
	rounds, spin, part := stageRounds, uint64(spinRounds), c.linkBytes/stageRounds
	if c.simulated {
		rounds, spin = 8, 10
	}
	for i := range rounds {
		l, at := lanes[i%len(lanes)], i*part
		far := c.far[0] + driver.Pointer(at)
		err := errors.Join(t.CopyIn(l.stream, far, c.host[0].Slice(at, part)), t.Launch(l.stream, k, 1, uint64(far), spin),
			t.CopyOut(l.stream, c.host[1].Slice(at, part), far), t.Record(l.end, l.stream))
		if err != nil {
			return err
		}
	}
	return nil
}

// pool is H8.
func (r *rig) pool(d *device) error {
	p := driver.NewDevicePool(d.Context, 0)
	for range 50 {
		at, err := p.Get(100_000)
		if err != nil {
			return err
		}
		if err := p.Put(at); err != nil {
			return err
		}
	}
	err := p.Close()
	r.most("H8", "calls of the pool for 100 operations", float64(p.Stats().Calls), "", 9)
	return err
}

// randomPool is H12.
func (r *rig) randomPool(d *device) error {
	random, p := rand.New(rand.NewPCG(12, 0)), driver.NewDevicePool(d.Context, 0)
	largest := 10 << 20
	if r.simulated {
		largest = 1 << 16
	}
	sizes := map[driver.Pointer]int{}
	var live []driver.Pointer
	needed, most := 0, 0
	for range r.allocations {
		if random.IntN(10) < 7 || len(live) == 0 {
			size := 1024 + random.IntN(largest-1023)
			at, err := p.Get(size)
			if err != nil {
				return err
			}
			live, sizes[at] = append(live, at), size
			needed += size
			most = max(most, needed)
			continue
		}
		i := random.IntN(len(live))
		at := live[i]
		live[i] = live[len(live)-1]
		live = live[:len(live)-1]
		needed -= sizes[at]
		if err := p.Put(at); err != nil {
			return err
		}
	}
	held := p.Stats().Most
	for _, at := range live {
		if err := p.Put(at); err != nil {
			return err
		}
	}
	r.most("H12", fmt.Sprintf("memory of the pool beside what was needed, %d MB", most/1e6), float64(held)/float64(most), "", 1.1)
	return p.Close()
}

// fourThreads is H13.
func (r *rig) fourThreads(d *device) error {
	k, err := build(addKernel)
	if err != nil {
		return err
	}
	counter, err := d.alloc("counter", 32)
	if err != nil {
		return err
	}
	if err := d.clear(counter, 32); err != nil {
		return err
	}
	const threads = 4
	errs := make([]error, threads)
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			for range r.threadLaunches {
				if errs[i] = d.Do(func(t *driver.Thread) error { return t.Launch(d.stream, k[0], 1, uint64(counter)) }); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	got := make([]byte, 4)
	if err := errors.Join(errors.Join(errs...), d.download(got, counter), d.release()); err != nil {
		return err
	}
	if count := int(binary.LittleEndian.Uint32(got)); count != threads*r.threadLaunches {
		return fmt.Errorf("%d kernels of four threads' %d have run: %w", count, threads*r.threadLaunches, errWrong)
	}
	r.proved("H13", "four threads in one context", fmt.Sprintf("%d kernels each", r.threadLaunches))
	return nil
}
