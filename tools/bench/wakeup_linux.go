// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// latencyRequest is the device by which a process asks the kernel for a bound on the time that a
// CPU takes to answer, in microseconds, for as long as the process keeps it open
// (Documentation/power/pm_qos_interface.rst).
const latencyRequest = "/dev/cpu_dma_latency"

const (
	// pingRounds is how many round trips follow one another without the Go scheduler: it takes a
	// thread's processor away after 10 ms, and a trip takes up to 0.3 ms.
	pingRounds = 25
	// pingBatches is how many times pingRounds are played. The first is not counted.
	pingBatches = 41
	messageSize = 8
)

// errPipe is an error where a pipe took or gave less than a message.
var errPipe = errors.New("a part of a message")

// A wakeUp is the time from a write to a pipe to the return of the read that waited for it, in
// another thread. All fields are immutable.
type wakeUp struct {
	// Between is of two threads on two CPUs, zero where this process may use only one; Same is of
	// two threads on one CPU.
	Between wakeDelay `json:"between_cpus"`
	Same    wakeDelay `json:"on_one_cpu"`
}

// A wakeDelay holds percentiles in microseconds.
type wakeDelay struct {
	P50 float64 `json:"p50_us"`
	P99 float64 `json:"p99_us"`
}

// wakeUpCost measures what it costs to wake a thread, on the first two CPUs that this process may
// use. With held it holds a request for CPUs that answer at once. It takes less than a second.
func wakeUpCost(held bool) (cost wakeUp, err error) {
	if held {
		request, failed := holdLatency()
		if failed != nil {
			return wakeUp{}, failed
		}
		defer func() { err = errors.Join(err, request.Close()) }()
	}
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return wakeUp{}, fmt.Errorf("read CPU affinity: %w", err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < min(2, allowed.Count()); cpu++ {
		if allowed.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	// Both threads wait in the kernel without the scheduler's knowledge. A collection of garbage
	// would wait for them, and stop the one for which the other waits.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(4, runtime.NumCPU()+2)))
	if len(cpus) == 2 {
		if cost.Between, err = pingPong(cpus[0], cpus[1]); err != nil {
			return wakeUp{}, err
		}
	}
	cost.Same, err = pingPong(cpus[0], cpus[0])
	return cost, err
}

// holdLatency asks for CPUs that answer at once, until the file is closed.
func holdLatency() (io.Closer, error) {
	file, err := os.OpenFile(latencyRequest, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("ask for awake CPUs: %w", err)
	}
	if _, err := file.Write(make([]byte, 4)); err != nil {
		return nil, fmt.Errorf("ask for awake CPUs: %w", errors.Join(err, file.Close()))
	}
	return file, nil
}

// A pinger is one of two threads that wake each other. It belongs to its goroutine, and its thread
// ends with that.
type pinger struct {
	cpu     int
	serves  bool // sends first
	in, out int  // pipes, which it closes at its end: the other must not wait for ever
	message []byte
	address uintptr // of message
	began   time.Time
	delays  histogram
}

// pingPong measures two threads bound to these CPUs, both directions together.
func pingPong(first, second int) (wakeDelay, error) {
	memory, err := unix.Mmap(-1, 0, 2*messageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return wakeDelay{}, fmt.Errorf("map memory for messages: %w", err)
	}
	var there, back [2]int
	if err := unix.Pipe2(there[:], unix.O_CLOEXEC); err != nil {
		return wakeDelay{}, fmt.Errorf("make a pipe: %w", errors.Join(err, unix.Munmap(memory)))
	}
	if err := unix.Pipe2(back[:], unix.O_CLOEXEC); err != nil {
		return wakeDelay{}, fmt.Errorf("make a pipe: %w", errors.Join(err, unix.Munmap(memory), unix.Close(there[0]), unix.Close(there[1])))
	}
	base, began := addressOf(memory), time.Now()
	players := [2]*pinger{
		{cpu: first, serves: true, in: back[0], out: there[1], message: memory[:messageSize], address: base, began: began},
		{cpu: second, in: there[0], out: back[1], message: memory[messageSize:], address: base + messageSize, began: began},
	}
	var failed [2]error
	var playing sync.WaitGroup
	for i, player := range players {
		playing.Go(func() { failed[i] = player.play() })
	}
	playing.Wait()
	if err := errors.Join(failed[0], failed[1], unix.Munmap(memory)); err != nil {
		return wakeDelay{}, fmt.Errorf("measure a wake-up from CPU %d to %d: %w", first, second, err)
	}
	all := &players[0].delays
	all.merge(&players[1].delays)
	return wakeDelay{microseconds(all.percentile(0.50)), microseconds(all.percentile(0.99))}, nil
}

// play sends and receives until all rounds are over.
func (p *pinger) play() (err error) {
	runtime.LockOSThread() // for good: the thread stays bound to its CPU
	defer func() { err = errors.Join(err, unix.Close(p.in), unix.Close(p.out)) }()
	var only unix.CPUSet
	only.Set(p.cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("bind a thread: %w", err)
	}
	for batch := range pingBatches {
		for round := range pingRounds {
			// In the first round the other may not wait yet.
			if err := p.round(batch > 0 && round > 0); err != nil {
				return err
			}
		}
		runtime.Gosched()
	}
	return nil
}

// round sends and receives one message each.
func (p *pinger) round(counts bool) error {
	if p.serves {
		if err := p.send(); err != nil {
			return err
		}
	}
	delay, err := p.receive()
	if err != nil {
		return err
	}
	if counts {
		p.delays.add(delay)
	}
	if !p.serves {
		return p.send()
	}
	return nil
}

// send wakes the other thread.
func (p *pinger) send() error {
	binary.NativeEndian.PutUint64(p.message, uint64(time.Since(p.began)))
	return p.transfer(unix.SYS_WRITE, p.out)
}

// receive waits for the other thread and returns how long ago that one sent.
func (p *pinger) receive() (time.Duration, error) {
	if err := p.transfer(unix.SYS_READ, p.in); err != nil {
		return 0, err
	}
	return time.Since(p.began) - time.Duration(binary.NativeEndian.Uint64(p.message)), nil
}

// transfer reads or writes the message. The call is raw: the scheduler's bookkeeping would show.
func (p *pinger) transfer(call uintptr, fd int) error {
	for {
		n, _, errno := unix.RawSyscall(call, uintptr(fd), p.address, messageSize)
		switch {
		case errno == unix.EINTR: // by a signal of the Go runtime
		case errno != 0:
			return fmt.Errorf("use a pipe: %w", errno)
		case n != messageSize:
			return fmt.Errorf("use a pipe: %w: %d bytes", errPipe, n)
		default:
			return nil
		}
	}
}
