// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
)

// settled is how long nvidia-smi takes to report the present power and not that before the work.
const settled = 1500 * time.Millisecond

// nvidiaPower returns the mean power that nvidia-smi reports over a duration, in watts, of the
// device at a place on the bus: CUDA numbers devices in another order.
func nvidiaPower(ctx context.Context, pci string, d time.Duration) (float64, error) {
	sum, count := 0.0, 0
	for start := time.Now(); time.Since(start) < d; {
		out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits", "-i", pci).Output()
		if err != nil {
			return 0, fmt.Errorf("nvidia-smi: %w", err)
		}
		watts, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			return 0, fmt.Errorf("read the power from nvidia-smi: %w", err)
		}
		if time.Since(start) > settled {
			sum += watts
			count++
		}
	}
	if count == 0 {
		return 0, errors.New("nvidia-smi is too slow to report the power")
	}
	return sum / float64(count), nil
}

// noPower is the meter of a simulated device.
func noPower(_ context.Context, _ string, d time.Duration) (float64, error) {
	time.Sleep(d)
	return 100, nil
}

// energyStep is a step: the device's power when idle, decompressing and compressing.
func (r *rig) energyStep() error {
	return r.onDevice(func(d *device) error {
		idle, err := r.meter(r.ctx, d.Properties().PCI, r.energy)
		if err != nil {
			return err
		}
		r.figure("power, a context and no work", idle, "W")
		all, err := programs()
		if err != nil {
			return err
		}
		c := &kernelCheck{rig: r, device: d, programs: all}
		memory := make([]byte, r.bufferPages*pageSize)
		r.source.fill(memory, 60)
		if err := errors.Join(c.energyReading(memory), d.release()); err != nil {
			return err
		}
		return errors.Join(c.energyCompressing(memory), d.release())
	})
}

func (c *kernelCheck) energyReading(memory []byte) error {
	b, err := c.cpuObjects("page", memory)
	if err != nil {
		return err
	}
	arena, err := c.place("objects", b.Arena)
	if err != nil {
		return err
	}
	var addresses, lengths []byte
	for i := range b.N {
		if b.ID[i] == codec.Page {
			addresses = binary.LittleEndian.AppendUint64(addresses, uint64(arena)+b.Offset[i])
			lengths = binary.LittleEndian.AppendUint32(lengths, b.Length[i])
		}
	}
	args, err := c.readingArgs(addresses, lengths, codec.Page)
	if err != nil {
		return err
	}
	count := len(lengths) / 4
	return c.atWork("page_decompress", count, func() error { return c.run(c.programs["page_decompress"], count, nil, args...) })
}

func (c *kernelCheck) energyCompressing(memory []byte) error {
	count := len(memory) / pageSize
	from, err := c.place("pages", memory)
	if err != nil {
		return err
	}
	results, err := c.alloc("results", count*kernels.ResultSize+kernels.ResultSize)
	if err != nil {
		return err
	}
	arena, err := c.alloc("arena", count*pageSize)
	if err != nil {
		return err
	}
	cursor := results + driver.Pointer(count*kernels.ResultSize) // a sector of its own
	granules := count * pageSize / kernels.GranuleSize
	return c.atWork("lz4_compress", count, func() error {
		restart := func() error { return c.clear(cursor, kernels.ResultSize) }
		return c.run(c.programs["lz4_compress"], count, restart, uint64(from), uint64(results), uint64(arena), uint64(cursor), uint64(granules), limit, uint64(count))
	})
}

// atWork repeats a kernel while it measures power.
func (c *kernelCheck) atWork(name string, count int, once func() error) error {
	type reading struct {
		watts float64
		err   error
	}
	if err := once(); err != nil {
		return err
	}
	done := make(chan reading, 1)
	go func() {
		watts, err := c.meter(c.ctx, c.device.Properties().PCI, c.energy)
		done <- reading{watts, err}
	}()
	start, times := time.Now(), 0
	for {
		select {
		case m := <-done:
			gigabytes := float64(times*count) * pageSize / 1e9
			c.figure("power, "+name, m.watts, "W")
			c.figure(fmt.Sprintf("energy, %s, for each GB of pages", name), m.watts*time.Since(start).Seconds()/gigabytes, "J/GB")
			return m.err
		default:
			if err := once(); err != nil {
				<-done
				return err
			}
			times += c.rounds + 1
		}
	}
}
