// SPDX-License-Identifier: Apache-2.0

package pmqos

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Of a measurement: the round trips that warm up, those that count, and the time after which it
// ends anyhow, since each takes a third of a millisecond on some machines.
const (
	warmUpTrips = 16
	roundTrips  = 200
	measureTime = 60 * time.Millisecond
)

// Threads is how many threads a measurement takes.
const Threads = 2

// measure returns what waking a thread on an idle processor costs, without the request and with it.
func (r *request) measure() (halted, held time.Duration, err error) {
	if halted, err = WakeUp(); err != nil {
		return 0, 0, err
	}
	if err = r.take(); err != nil {
		return 0, 0, err
	}
	held, err = WakeUp()
	return halted, held, errors.Join(err, r.letGo())
}

// WakeUp returns the median of [WakeUps] between two processors that the calling process may use.
func WakeUp() (time.Duration, error) {
	usable, err := Usable()
	if err != nil {
		return 0, err
	}
	if len(usable) < 2 {
		return 0, errors.New("measure a wake-up: one processor only")
	}
	all, err := WakeUps(usable[0], usable[1])
	if err != nil {
		return 0, err
	}
	return all[len(all)/2], nil
}

// Usable returns the processors that the calling thread may run on, in ascending order.
func Usable() (all []int, err error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, fmt.Errorf("measure a wake-up: %w", err)
	}
	for cpu := 0; len(all) < allowed.Count(); cpu++ {
		if allowed.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	return all, nil
}

// WakeUps measures how long a thread on one processor takes to wake one that waits on another, or
// on the same: halves of up to 200 round trips through two pipes, sorted. It takes up to 60 ms.
func WakeUps(from, to int) ([]time.Duration, error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, fmt.Errorf("measure a wake-up: %w", err)
	}
	var there, back [2]int
	if err := unix.Pipe2(there[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("measure a wake-up: %w", err)
	}
	if err := unix.Pipe2(back[:], unix.O_CLOEXEC); err != nil {
		return nil, errors.Join(fmt.Errorf("measure a wake-up: %w", err), unix.Close(there[0]), unix.Close(there[1]))
	}
	echoed := make(chan error, 1)
	go func() { // it closes its ends, so that the other one never waits for an echo that has failed
		err := onProcessor(to, &allowed, func() error { return echo(there[0], back[1]) })
		echoed <- errors.Join(err, unix.Close(back[1]))
	}()
	var trips []time.Duration
	err := onProcessor(from, &allowed, func() (err error) {
		trips, err = timeTrips(there[1], back[0])
		return err
	})
	err = errors.Join(err, unix.Close(there[1])) // the other thread reads the end
	err = errors.Join(err, <-echoed, unix.Close(there[0]), unix.Close(back[0]))
	if err != nil {
		return nil, fmt.Errorf("measure a wake-up: %w", err)
	}
	for i := range trips {
		trips[i] /= 2
	}
	slices.Sort(trips)
	return trips, nil
}

// timeTrips sends bytes one after the other and times each until it comes back.
func timeTrips(to, from int) (trips []time.Duration, err error) {
	trips = make([]time.Duration, 0, roundTrips)
	var b [1]byte
	begin := time.Now()
	for i := range warmUpTrips + roundTrips {
		now := time.Now()
		if err := errors.Join(one(unix.Write, to, b[:]), one(unix.Read, from, b[:])); err != nil {
			return nil, err
		}
		if i >= warmUpTrips {
			trips = append(trips, time.Since(now))
		}
		if time.Since(begin) > measureTime && len(trips) > 0 {
			break
		}
	}
	return trips, nil
}

// errEnd is the end of a pipe.
var errEnd = errors.New("end of the pipe")

// echo sends back each byte that it reads, until the other side is closed.
func echo(from, to int) error {
	var b [1]byte
	for {
		if err := one(unix.Read, from, b[:]); errors.Is(err, errEnd) {
			return nil
		} else if err != nil {
			return err
		}
		if err := one(unix.Write, to, b[:]); err != nil {
			return err
		}
	}
}

// one transfers one byte by read or write, which signals of the Go runtime may interrupt.
func one(transfer func(int, []byte) (int, error), fd int, b []byte) error {
	for {
		switch n, err := transfer(fd, b); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 0:
			return errEnd
		default:
			return nil
		}
	}
}

// onProcessor calls f in a thread that runs on one processor only, and gives the thread all that
// are allowed afterwards. A thread that cannot be given back ends with its goroutine.
func onProcessor(cpu int, allowed *unix.CPUSet, f func() error) error {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("run on processor %d: %w", cpu, err)
	}
	err := f()
	if e := unix.SchedSetaffinity(0, allowed); e != nil {
		return errors.Join(err, fmt.Errorf("run on all processors again: %w", e))
	}
	runtime.UnlockOSThread()
	return err
}
