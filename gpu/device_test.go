// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/internal/require"
)

// The tests for real devices run here on a simulated one, with little and without asking for speed.
// tools/gpucheck measures the same and more.

// device is NVIDIA's driver, if it has a device that we take.
func device(t *testing.T) *driver.Driver {
	t.Helper()
	d, err := driver.CUDA()
	if err == nil {
		var c *driver.Context
		if c, err = d.Open(0, driver.Options{}); err == nil {
			err = c.Close()
		}
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}
	require.GPU(t, err)
	return d
}

// F036 on a device: a million pages, of all kinds and some of them damaged, read as the CPU reads
// them.
func TestF036MillionPagesOnADevice(t *testing.T) {
	manyPages(t, device(t), Options{}, 16, 1<<16)
}

func TestManyPagesOnASimulator(t *testing.T) {
	d, err := simulated(1).Driver()
	if err != nil {
		t.Fatal(err)
	}
	manyPages(t, d, small(), 2, 30)
}

// manyPages has batches of pages read by the engine and by the CPU, and closes the driver.
func manyPages(t *testing.T, d *driver.Driver, o Options, batches, each int) {
	t.Helper()
	e, err := Open(d, o)
	if err != nil {
		t.Fatal(err)
	}
	p, cpu := newPlanner(t, bulk.EnginesAlone, e), newPlanner(t, bulk.CPUAlone)
	for i := range batches {
		b := objects(t, memory(each, uint64(i)), i%2 == 1)
		want := copyOf(b, bulk.Decompress)
		run(t, cpu, want)
		if r := run(t, p, b); r.Engines[1].Items < each/3 || r.Engines[1].Failures > 0 {
			t.Errorf("the device's part of %d pages is %+v", each, r.Engines[1])
		}
		same(t, b, want)
	}
	if err := errors.Join(p.Close(), d.Close()); err != nil {
		t.Error(err)
	}
}

// F050 on a device: its own translator takes every kernel.
func TestF050EveryKernelLoadsOnADevice(t *testing.T) { loads(t, device(t)) }

// F054: pages in the device's memory are compressed at 50 GB/s or more, over 100,000 batches.
func TestF054CompressesAtSpeed(t *testing.T) {
	const want = 50e9
	got := residentSpeed(t, device(t), 1<<12, 100_000) // 1.7 TB, of pages that lie in the cache
	t.Logf("%.1f GB/s", got/1e9)
	if got < want {
		t.Errorf("FALSIFIED: %.1f GB/s are compressed, the claim is %.0f", got/1e9, want/1e9)
	}
}

func TestResidentSpeedOnASimulator(t *testing.T) {
	d, err := simulated(1).Driver()
	if err != nil {
		t.Fatal(err)
	}
	const n, batches = 12, 5
	start := time.Now()
	got := residentSpeed(t, d, n, batches)
	// The device's clock runs no longer than ours, and a device that is simulated is slow.
	if least := n * batches * codec.PageSize / time.Since(start).Seconds(); got < least || got > 100*least {
		t.Errorf("%.0f bytes a second by the device's clock, %.0f by ours", got, least)
	}
}

// resident is what the compressor needs in the device's memory.
type resident struct {
	stream                          driver.Stream
	begin, end                      driver.Event
	staging                         driver.Host
	pages, results, objects, cursor driver.Pointer
}

// allocate makes room for n pages, and copies them to the device.
func (r *resident) allocate(t *driver.Thread, all []byte) (err error) {
	n := len(all) / codec.PageSize
	for _, step := range []func() error{
		func() error { r.stream, err = t.NewStream(); return err },
		func() error { r.begin, err = t.NewEvent(); return err },
		func() error { r.end, err = t.NewEvent(); return err },
		func() error { r.staging, err = t.AllocHost(len(all)); return err },
		func() error { r.pages, err = t.Alloc("pages", len(all)); return err },
		func() error { r.results, err = t.Alloc("results", n*kernels.ResultSize); return err },
		func() error { r.objects, err = t.Alloc("objects", len(all)); return err },
		func() error { r.cursor, err = t.Alloc("cursor", sectorBytes); return err },
		func() error {
			copy(r.staging.Bytes(), all)
			return t.CopyIn(r.stream, r.pages, r.staging)
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (r *resident) free(t *driver.Thread) error {
	return errors.Join(t.Free(r.pages), t.Free(r.results), t.Free(r.objects), t.Free(r.cursor), t.FreeHost(r.staging),
		t.CloseEvent(r.begin), t.CloseEvent(r.end), t.CloseStream(r.stream))
}

// residentSpeed is how many bytes of pages a second a device compresses in batches of n pages, but
// for the first batch, by its own clock. It closes the driver.
func residentSpeed(t *testing.T, d *driver.Driver, n, batches int) float64 {
	t.Helper()
	c, err := d.Open(0, driver.Options{Limit: patience})
	if err != nil {
		t.Fatal(err)
	}
	k, err := kernels.LZ4Compress()
	if err != nil {
		t.Fatal(err)
	}
	var r resident
	if err := c.Do(func(t *driver.Thread) error { return r.allocate(t, memory(n, 54)) }); err != nil {
		t.Fatal(err)
	}
	r.compress(t, c, k, n, 1)
	took := time.Duration(0)
	const queued = 100 // launches at a time, fewer than a device takes
	for done := 0; done < batches; done += queued {
		took += r.compress(t, c, k, n, min(queued, batches-done))
	}
	if err := errors.Join(c.Do(r.free), d.Close()); err != nil {
		t.Error(err)
	}
	return float64(n) * codec.PageSize * float64(batches) / took.Seconds()
}

// compress launches the kernel several times over the same n pages, and returns the device's time.
func (r *resident) compress(t *testing.T, c *driver.Context, k *ptx.Kernel, n, times int) (took time.Duration) {
	t.Helper()
	granules := uint64(n * codec.PageSize / kernels.GranuleSize)
	blocks := (n + k.Threads()/ptx.WarpSize - 1) / (k.Threads() / ptx.WarpSize)
	err := c.Do(func(t *driver.Thread) error {
		err := t.Record(r.begin, r.stream)
		for range times {
			err = errors.Join(err, t.Fill(r.stream, r.cursor, 0, sectorBytes), t.Launch(r.stream, k, blocks,
				uint64(r.pages), uint64(r.results), uint64(r.objects), uint64(r.cursor), granules, longestObject, uint64(n)))
		}
		return errors.Join(err, t.Record(r.end, r.stream))
	})
	if err == nil {
		err = c.Wait(r.end)
	}
	if err == nil {
		err = c.Do(func(t *driver.Thread) (err error) {
			took, err = t.Elapsed(r.begin, r.end)
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return took
}
