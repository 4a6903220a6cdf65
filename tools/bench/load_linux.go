// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
)

// A load writes real pages to a device. Its fields are immutable while jobs run,
// but for stop.
type load struct {
	workload workload
	pool     *pool
	fd       int
	size     int64
	runtime  time.Duration
	stop     atomic.Bool // set when the run is interrupted
}

// A job is one thread's part of a load. It belongs to its goroutine.
type job struct {
	*load
	rng  *rand.Rand
	next int64 // the offset of the next sequential write
	done histogram
}

// writeLoad runs a writing workload on a device for runtime and returns its
// figures.
func writeLoad(ctx context.Context, path string, size int64, work workload, pool *pool, runtime time.Duration, seed uint64) (figure, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return figure{}, fmt.Errorf("open %s: %w", path, err)
	}
	l := &load{workload: work, pool: pool, fd: fd, size: size, runtime: runtime}
	defer context.AfterFunc(ctx, func() { l.stop.Store(true) })()
	jobs := make([]*job, work.jobs)
	failed := make([]error, work.jobs)
	var running sync.WaitGroup
	began := time.Now()
	for i := range jobs {
		jobs[i] = &job{load: l, rng: rand.New(rand.NewPCG(seed, uint64(i)))}
		running.Go(func() { failed[i] = jobs[i].run(began.Add(runtime)) })
	}
	running.Wait()
	took := time.Since(began)
	if err := errors.Join(append(failed, unix.Close(fd), ctx.Err())...); err != nil {
		return figure{}, fmt.Errorf("%s on %s: %w", work, path, err)
	}
	return summarise(jobs, work, took), nil
}

func summarise(jobs []*job, work workload, took time.Duration) figure {
	all := &histogram{}
	for _, job := range jobs {
		all.merge(&job.done)
	}
	requests := float64(all.total) / took.Seconds()
	return figure{
		Bytes:    requests * float64(work.block),
		Requests: requests,
		P50:      float64(all.percentile(0.50)) / 1e3,
		P99:      float64(all.percentile(0.99)) / 1e3,
	}
}

// run writes until the deadline.
func (j *job) run(deadline time.Time) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if j.workload.depth == 0 {
		return j.runSync(deadline)
	}
	return j.runAsync(deadline)
}

// place chooses what the next write writes and where.
func (j *job) place() (address uintptr, offset int64) {
	block := j.workload.block
	blocks := j.size / int64(block)
	if j.workload.random {
		offset = j.rng.Int64N(blocks) * int64(block)
	} else {
		offset = j.next
		j.next = (j.next + int64(block)) % (blocks * int64(block))
	}
	first := j.rng.IntN((len(j.pool.memory)-block)/codec.PageSize + 1)
	return j.pool.address + uintptr(first*codec.PageSize), offset
}

func (j *job) runSync(deadline time.Time) error {
	length := uintptr(j.workload.block)
	for began := time.Now(); began.Before(deadline) && !j.stop.Load(); {
		address, offset := j.place()
		began = time.Now()
		// Raw, because the thread is ours alone: the scheduler's bookkeeping would
		// show in the latency.
		n, _, errno := unix.RawSyscall6(unix.SYS_PWRITE64, uintptr(j.fd), address, length, uintptr(offset), 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return fmt.Errorf("write at %d: %w", offset, errno)
		}
		if n != length {
			return fmt.Errorf("write at %d: %d bytes of %d", offset, n, length)
		}
		j.done.add(time.Since(began))
	}
	return nil
}

func (j *job) runAsync(deadline time.Time) (err error) {
	writer, err := newAsyncWriter(j.fd, j.workload.depth)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, writer.close()) }()
	began := make([]time.Time, j.workload.depth)
	for {
		ending := !time.Now().Before(deadline) || j.stop.Load()
		if ending && writer.inFlight() == 0 {
			return nil
		}
		for !ending && writer.inFlight() < j.workload.depth {
			address, offset := j.place()
			before := time.Now()
			slot, err := writer.submit(address, j.workload.block, offset)
			if err != nil {
				return err
			}
			began[slot] = before
		}
		// One at a time, so that the device always has its depth, as fio does.
		slot, err := writer.collect(j.workload.block)
		if err != nil {
			return err
		}
		j.done.add(time.Since(began[slot]))
	}
}

// fill writes real pages over the whole device, in the pool's order again and
// again.
func fill(ctx context.Context, path string, size int64, pool *pool) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("fill: open %s: %w", path, err)
	}
	for offset := int64(0); offset < size && err == nil; offset += mebibyte {
		from := offset % int64(len(pool.memory))
		var n int
		n, err = unix.Pwrite(fd, pool.memory[from:from+mebibyte], offset)
		if err == nil && n != mebibyte {
			err = fmt.Errorf("%d bytes of %d", n, mebibyte)
		}
		err = errors.Join(err, ctx.Err())
	}
	if err := errors.Join(err, unix.Close(fd)); err != nil {
		return fmt.Errorf("fill %s: %w", path, err)
	}
	return nil
}

// ownTime returns the processor time of this process and of those that it started
// and that have ended.
func ownTime() time.Duration {
	sum := time.Duration(0)
	for _, who := range [...]int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var usage unix.Rusage
		if err := unix.Getrusage(who, &usage); err != nil {
			return 0 // it has no other error than a wrong who
		}
		sum += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return sum
}
