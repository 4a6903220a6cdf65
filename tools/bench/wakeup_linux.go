// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"time"

	"github.com/zramfs/zramfs/internal/pmqos"
)

// wakeUpRuns is how many measurements make one figure: each has 200 wake-ups, too few for a p99.
const wakeUpRuns = 5

// A wakeUp is the time in which a thread wakes another one that reads from a pipe. All fields are
// immutable.
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
		request, refused := pmqos.Hold()
		if refused != nil {
			return wakeUp{}, refused
		}
		defer func() { err = errors.Join(err, request.Close()) }()
	}
	cpus, err := pmqos.Usable()
	if err != nil {
		return wakeUp{}, err
	}
	if len(cpus) > 1 {
		if cost.Between, err = wakeDelayOf(cpus[0], cpus[1]); err != nil {
			return wakeUp{}, err
		}
	}
	cost.Same, err = wakeDelayOf(cpus[0], cpus[0])
	return cost, err
}

func wakeDelayOf(from, to int) (wakeDelay, error) {
	var all []time.Duration
	for range wakeUpRuns {
		some, err := pmqos.WakeUps(from, to)
		if err != nil {
			return wakeDelay{}, err
		}
		all = append(all, some...)
	}
	slices.Sort(all)
	return wakeDelay{P50: microseconds(all[len(all)/2]), P99: microseconds(all[len(all)*99/100])}, nil
}
