// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/host"
)

// A tally is what the machine has done since it started.
type tally struct {
	census census
	// out and in are pages swapped by any process, to and from zswap or a device.
	out, in uint64
	zswap   host.ZswapUse
}

// readTally reads what the machine has done.
func readTally(all party) (tally, error) {
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return tally{}, fmt.Errorf("read swapped pages: %w", err)
	}
	var t tally
	if t.out, t.in, err = parseSwapped(string(text)); err != nil {
		return tally{}, err
	}
	t.zswap = host.Local.ZswapUse()
	// The kernel counts a page that zswap writes back as one written to a device too.
	t.out, t.in = t.out+t.zswap.Stores-t.zswap.WrittenBack, t.in+t.zswap.Loads
	t.census, err = all.count()
	return t, err
}

// parseSwapped reads the pages written to and read from swap from what /proc/vmstat
// holds.
func parseSwapped(text string) (out, in uint64, err error) {
	found := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		var into *uint64
		switch name {
		case "pswpout":
			into = &out
		case "pswpin":
			into = &in
		default:
			continue
		}
		if *into, err = strconv.ParseUint(value, 10, 64); err != nil {
			return 0, 0, fmt.Errorf("parse /proc/vmstat: %w: %w", errKernelText, err)
		}
		found++
	}
	if found != 2 {
		return 0, 0, fmt.Errorf("parse /proc/vmstat: %w: no pswpout or pswpin (a kernel without swap?)", errKernelText)
	}
	return out, in, nil
}

// A phase is the load's part of a measurement, with the pages swapped and the time spent during it.
type phase struct {
	result  loadResult
	cpu     cpuTime
	out, in uint64 // pages
	memory  uint64 // bytes that the device took at its end, everything counted
	zswap   uint64 // what zswap took of them
	// loads and writtenBack are pages that zswap answered, and that it wrote to the device.
	loads, writtenBack uint64
}

// A swapFigure is one window on one device.
type swapFigure struct {
	// Fill and Walk are megabytes a second, of all pages.
	Fill float64 `json:"fill_mb_per_second"`
	Walk float64 `json:"walk_mb_per_second"`
	// Walked is the part of the pages that the walk reached before its time was over, 1 for all.
	Walked float64 `json:"walked_part"`
	// Touch is the mean time in microseconds of all touches; Miss is that of those that
	// waited for the device, MissP50 and MissP99 are their percentiles, Misses how many there were.
	Touch   float64 `json:"touch_us"`
	Miss    float64 `json:"miss_us"`
	MissP50 float64 `json:"miss_p50_us"`
	MissP99 float64 `json:"miss_p99_us"`
	Misses  int     `json:"misses"`
	// Major, Minor and None are the parts of the touches that waited for the device, that found
	// their page in the swap cache, and that did not fault. Their sum is 1.
	Major float64 `json:"touches_major"`
	Minor float64 `json:"touches_minor"`
	None  float64 `json:"touches_none"`
	// Hot is the part of the pages swapped in during the touches that came from zswap.
	Hot float64 `json:"touches_from_zswap"`
	// Out and In are the GiB swapped during fill and walk.
	Out float64 `json:"swapped_out_gib"`
	In  float64 `json:"swapped_in_gib"`
	// WrittenBack are the GiB that zswap wrote to the device during all phases.
	WrittenBack float64 `json:"zswap_written_back_gib"`
	// CPU is the processor time of fill and walk, of load, zramfs and kernel, in
	// seconds, for each GiB swapped out or in; Spent is all of it.
	CPU   float64 `json:"cpu_seconds_per_gib"`
	Spent cpuTime `json:"cpu"`
	// FillCPU and WalkCPU are the parts of it; TouchCPU is in microseconds for each touch.
	FillCPU  cpuTime `json:"fill_cpu"`
	WalkCPU  cpuTime `json:"walk_cpu"`
	TouchCPU float64 `json:"touch_cpu_us"`
	// TakenFill, TakenWalk and TakenTouch are the memory in MiB that the device took at the end of
	// each phase, everything counted: the same work on each device.
	TakenFill  float64 `json:"memory_after_fill_mib"`
	TakenWalk  float64 `json:"memory_after_walk_mib"`
	TakenTouch float64 `json:"memory_after_touch_mib"`
	// TakenZswap is the part of TakenTouch that zswap took.
	TakenZswap float64 `json:"zswap_memory_after_touch_mib"`
	// Stored is what the device held after the fill, in GiB, and Memory the memory
	// that each byte of it took.
	Stored float64 `json:"stored_gib"`
	Memory float64 `json:"memory_per_stored_byte"`
}

var errNoSwapping = errors.New("nothing was swapped")

// newSwapFigure works out the figures of a window.
func newSwapFigure(fill, walk, touch phase, memory *memoryUse) (swapFigure, error) {
	out, in := fill.out+walk.out, fill.in+walk.in
	if out == 0 || in == 0 || touch.result.Missed == 0 {
		return swapFigure{}, fmt.Errorf("%w: %d pages out, %d in, %d touches waited", errNoSwapping, out, in, touch.result.Missed)
	}
	touches, missed, minor := float64(touch.result.Pages), float64(touch.result.Missed), float64(touch.result.Minor)
	f := swapFigure{
		Fill: speed(fill.result), Walk: speed(walk.result), Walked: float64(walk.result.Pages) / float64(fill.result.Pages),
		Touch: microseconds(touch.result.Touching) / touches,
		Miss:  microseconds(touch.result.Waited) / missed, Misses: touch.result.Missed,
		MissP50: microseconds(touch.result.P50), MissP99: microseconds(touch.result.P99),
		Major: missed / touches, Minor: minor / touches, None: (touches - missed - minor) / touches,
		Hot: quotient(touch.loads, touch.in),
		Out: gibibytes(out), In: gibibytes(in),
		WrittenBack: gibibytes(fill.writtenBack + walk.writtenBack + touch.writtenBack),
		Spent:       fill.cpu.plus(walk.cpu), FillCPU: fill.cpu, WalkCPU: walk.cpu,
		TouchCPU:  touch.cpu.own() * 1e6 / touches,
		TakenFill: mebibytes(fill.memory), TakenWalk: mebibytes(walk.memory), TakenTouch: mebibytes(touch.memory),
		TakenZswap: mebibytes(touch.zswap),
	}
	f.CPU = f.share(f.Spent.own())
	if memory != nil {
		f.Stored, f.Memory = float64(memory.Original)/gibibyte, memory.Cost
	}
	return f, nil
}

// share returns what part of the processor time went to each GiB swapped out or in.
func (f swapFigure) share(seconds float64) float64 { return seconds / (f.Out + f.In) }

// speed returns megabytes a second.
func speed(result loadResult) float64 {
	return float64(result.Pages) * codec.PageSize / 1e6 / result.Took.Seconds()
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func gibibytes(pages uint64) float64 { return float64(pages) * codec.PageSize / gibibyte }

func mebibytes(bytes uint64) float64 { return float64(bytes) / (1 << 20) }
