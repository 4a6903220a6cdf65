// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// The phases of runStore, one after the other.
const (
	phaseFill  = "filled"         // with real pages, in their order
	phaseIdle  = "idle"           // no page is used
	phaseChurn = "overwritten"    // many times the device, at random, in pieces of random length
	phaseFree  = "80 % freed"     // at random, page by page
	freeTime   = 10 * time.Second // after which memory has to be back
	samples    = 4                // a second
)

// A storePoint is what a device takes at an instant.
type storePoint struct {
	At         float64 `json:"at_seconds"`
	Stored     uint64  `json:"orig_data_size"`
	Compressed uint64  `json:"compr_data_size"`
	// Used is mem_used_total: objects and slack, and of zramfs its index.
	Used uint64 `json:"mem_used_total"`
	// Memory is all that the device takes: objects, slack, index, and of zramfs its processes.
	Memory uint64 `json:"memory_bytes"`
}

// perPage is the memory of a stored page, in bytes.
func (p storePoint) perPage() float64 { return quotient(p.Memory*codec.PageSize, p.Stored) }

// A storePhase is how a phase ended on a device.
type storePhase struct {
	Name string     `json:"name"`
	End  storePoint `json:"end"`
}

// A storeFigure is what was seen of one device.
type storeFigure struct {
	Name   string       `json:"name"`
	What   string       `json:"what"`
	Phases []storePhase `json:"phases"`
	// AtRest and Busy are of requests for one page, one at a time, of a device at rest, and of one
	// that packs pages, or of kernel zram at the same time.
	AtRest storeLatency `json:"at_rest"`
	Busy   storeLatency `json:"busy"`
	Points []storePoint `json:"points"`
}

// A storeLatency has percentiles.
type storeLatency struct {
	Read  figure `json:"read"`
	Write figure `json:"write"`
}

// A storeBenchmark is a run on several devices at once. It belongs to one goroutine.
type storeBenchmark struct {
	opts     options
	devices  []*device
	figures  []storeFigure
	zstd     float64 // what kernel zram would take for a page with zstd, in bytes
	load     *storeLoad
	began    time.Time
	progress io.Writer
}

// runStore has devices hold the same pages through the same phases, and reports the memory that
// each takes over time.
func runStore(ctx context.Context, opts options, pool *pool, out, progress io.Writer) (err error) {
	var made cleanup
	defer func() { err = errors.Join(err, made.undo()) }()
	devices, err := setUp(opts, &made)
	if err != nil {
		return err
	}
	load, err := newStoreLoad(pool, opts.size)
	if err != nil {
		return err
	}
	b := &storeBenchmark{opts: opts, devices: devices, load: load, began: time.Now(), progress: progress, figures: make([]storeFigure, len(devices))}
	for i, d := range devices {
		b.figures[i].Name, b.figures[i].What = d.name, d.what
	}
	if b.zstd, err = zramBytes(pool.memory, "zstd(level=3)"); err != nil {
		return err
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	if opts.plot != "" {
		err = os.WriteFile(opts.plot, []byte(plotStore(b.figures)), 0o644)
	}
	if opts.json {
		return errors.Join(err, json.NewEncoder(out).Encode(b.figures))
	}
	return errors.Join(err, b.writeText(out))
}

func (b *storeBenchmark) run(ctx context.Context) error {
	for _, phase := range []struct {
		name string
		work func(ctx context.Context, path string) error
		rest time.Duration
	}{
		{phaseFill, func(ctx context.Context, path string) error { return b.load.fill(ctx, path, b.opts.pace) }, 5 * time.Second},
		{phaseIdle, func(context.Context, string) error { return nil }, b.opts.idle},
		{phaseChurn, func(ctx context.Context, path string) error { return b.load.churn(ctx, path, b.opts.churn) }, 5 * time.Second},
		{phaseFree, b.load.free, freeTime},
	} {
		for _, d := range b.devices {
			fmt.Fprintf(b.progress, "%4.0f s  %s: %s\n", time.Since(b.began).Seconds(), d.name, phase.name)
			if err := errors.Join(b.during(func() error { return phase.work(ctx, d.path) }), ctx.Err()); err != nil {
				return fmt.Errorf("%s, %s: %w", d.name, phase.name, err)
			}
		}
		if err := b.rest(ctx, phase.name, phase.rest); err != nil {
			return fmt.Errorf("%s: %w", phase.name, err)
		}
		for i := range b.figures {
			f := &b.figures[i]
			f.Phases = append(f.Phases, storePhase{phase.name, f.Points[len(f.Points)-1]})
		}
	}
	for _, d := range b.devices {
		if err := b.load.check(d.path); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

// during takes points while work goes on.
func (b *storeBenchmark) during(work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	for {
		select {
		case err := <-done:
			return errors.Join(err, b.take())
		case <-time.After(time.Second / samples):
			if err := b.take(); err != nil {
				return errors.Join(err, <-done)
			}
		}
	}
}

// rest takes points for a while without work, and measures latencies at the end of the first phase,
// and in the idle one as soon as a device packs.
func (b *storeBenchmark) rest(ctx context.Context, phase string, long time.Duration) error {
	busy := phase != phaseIdle
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(time.Second / samples) {
		if err := errors.Join(b.take(), ctx.Err()); err != nil {
			return err
		}
		if !busy && b.packs() {
			busy = true
			if err := b.latencies(func(f *storeFigure) *storeLatency { return &f.Busy }, busyVersion); err != nil {
				return err
			}
		}
	}
	if phase == phaseFill {
		return b.latencies(func(f *storeFigure) *storeLatency { return &f.AtRest }, restVersion)
	}
	return nil
}

func (b *storeBenchmark) latencies(into func(*storeFigure) *storeLatency, version int) error {
	for i, d := range b.devices {
		l, err := b.load.latencies(d.path, version)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		*into(&b.figures[i]) = l
	}
	return nil
}

// A storeStatus is what of zramfs's status counts here.
type storeStatus struct {
	ProcessMemory uint64 `json:"process_memory_bytes"`
	Cold          struct {
		State string `json:"state"`
	} `json:"cold"`
}

// statusOf reads the status of zramfs; of another device it returns nil.
func statusOf(d *device) (*storeStatus, error) {
	dir, ok := strings.CutSuffix(d.mmStat, "/"+mmStat)
	if !ok || d.server == "" {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(dir, "control/status"))
	if err != nil {
		return nil, err
	}
	s := &storeStatus{}
	return s, json.Unmarshal(text, s)
}

// packs reports whether a device packs pages.
func (b *storeBenchmark) packs() bool {
	for _, d := range b.devices {
		if s, err := statusOf(d); err == nil && s != nil && s.Cold.State == "packing" {
			return true
		}
	}
	return false
}

// zramTable is what kernel zram's table takes for a page, in bytes; mm_stat leaves it out.
const zramTable = 16

// take takes a point of each device.
func (b *storeBenchmark) take() error {
	for i, d := range b.devices {
		use, err := readMemory(d)
		if err != nil || use == nil {
			return errors.Join(err, errWithoutMemory)
		}
		p := storePoint{At: time.Since(b.began).Seconds(), Stored: use.Original, Compressed: use.Compressed, Used: use.Used, Memory: use.Used}
		s, err := statusOf(d)
		switch {
		case err != nil:
			return err
		case s != nil:
			p.Memory += s.ProcessMemory
		default:
			p.Memory += uint64(b.opts.size) / codec.PageSize * zramTable
		}
		b.figures[i].Points = append(b.figures[i].Points, p)
	}
	return nil
}

var errWithoutMemory = errors.New("a device says nothing of its memory")
