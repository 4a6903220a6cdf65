// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/ptx"
)

// A loopCost is the time of the loops of testdata/loop.c, in nanoseconds: for one launch, and for
// one round of a copy in, a kernel, a copy out and a wait.
type loopCost struct{ launch, round float64 }

// loopRounds is the number of rounds, each with copies of loopBytes.
const (
	loopRounds = 200
	loopBytes  = 4 << 20
)

// ownLoop runs the same loops with our driver.
func (r *rig) ownLoop(d *device) (cost loopCost, err error) {
	k, err := build(addKernel)
	if err != nil {
		return cost, err
	}
	size := min(loopBytes, r.linkBytes)
	far, err := d.alloc("far", size)
	if err != nil {
		return cost, err
	}
	err = d.upload(far, make([]byte, size))
	for left := r.launches; left > 0 && err == nil; left -= launchesAtOnce {
		var took time.Duration
		took, err = d.launches(k[0], far, min(left, launchesAtOnce))
		each := float64(took.Nanoseconds()) / float64(min(left, launchesAtOnce))
		if cost.launch == 0 || each < cost.launch {
			cost.launch = each
		}
	}
	cost.round = math.MaxFloat64
	for range min(r.launches, loopRounds) {
		if err != nil {
			break
		}
		start := time.Now()
		err = d.Do(func(t *driver.Thread) error {
			h := d.staging.Slice(0, size)
			return errors.Join(t.CopyIn(d.stream, far, h), t.Launch(d.stream, k[0], 1, uint64(far)), t.CopyOut(d.stream, h, far), t.Record(d.end, d.stream))
		})
		err = errors.Join(err, d.Wait(d.end))
		cost.round = min(cost.round, float64(time.Since(start).Nanoseconds()))
	}
	return cost, errors.Join(err, d.release())
}

// launches returns how long count launches take.
func (d *device) launches(k *ptx.Kernel, far driver.Pointer, count int) (took time.Duration, err error) {
	err = d.Do(func(t *driver.Thread) error {
		start := time.Now()
		for range count {
			if err := t.Launch(d.stream, k, 1, uint64(far)); err != nil {
				return err
			}
		}
		took = time.Since(start)
		return t.Record(d.end, d.stream)
	})
	return took, errors.Join(err, d.Wait(d.end))
}

// cLoop runs the C program with the kernel's text and name and the counts, and parses the two times
// that it prints.
func (r *rig) cLoop() (cost loopCost, err error) {
	k, err := build(addKernel)
	if err != nil {
		return cost, err
	}
	dir, err := os.MkdirTemp("", "gpucheck-")
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "kernel.ptx")
	if err := os.WriteFile(file, []byte(k[0].PTX()), 0o600); err != nil {
		return cost, err
	}
	numbers := []string{file, k[0].Name(), strconv.Itoa(r.device), strconv.Itoa(r.launches), strconv.Itoa(launchesAtOnce), strconv.Itoa(loopRounds), strconv.Itoa(loopBytes)}
	out, err := exec.CommandContext(r.ctx, r.loop, numbers...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = exit.Stderr
		}
		return cost, fmt.Errorf("%s: %w: %s", r.loop, err, out)
	}
	if _, err := fmt.Sscan(string(out), &cost.launch, &cost.round); err != nil {
		return cost, fmt.Errorf("%s printed %q: %w", r.loop, out, err)
	}
	return cost, nil
}
