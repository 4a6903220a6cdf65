// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A meter tells what the serving process allocates for a request, on average.
type meter struct {
	d      *device
	before serveState
}

// meterOf starts a meter. The requests before it make go-fuse fill its pools of
// buffers, which takes as many as are ever in use at a time.
func meterOf(d *device, request func()) meter {
	for range 500 {
		request()
	}
	return meter{d, d.ask(commandState)}
}

func (m meter) read(requests int) (objects, bytes float64) {
	after := m.d.ask(commandState)
	n := float64(requests)
	return float64(after.Mallocs-m.before.Mallocs) / n, float64(after.Bytes-m.before.Bytes) / n
}

// requests are reads and writes of 4 KiB and 1 MiB at random places.
func requests(tb testing.TB, d *device) map[string]func() {
	f := d.open(os.O_RDWR | unix.O_DIRECT)
	rng := rand.New(rand.NewPCG(12, 13))
	all := make(map[string]func())
	for name, n := range map[string]int{"4KiB": pageSize, "1MiB": 1 << 20} {
		buf := aligned(tb, n)
		for i := range buf {
			buf[i] = byte(rng.Uint32N(20))
		}
		somewhere := func() int64 { return rng.Int64N(int64(smallDisk/n)) * int64(n) }
		all["read"+name] = func() {
			if _, err := f.ReadAt(buf, somewhere()); err != nil {
				tb.Error(err)
			}
		}
		all["write"+name] = func() {
			if _, err := f.WriteAt(buf, somewhere()); err != nil {
				tb.Error(err)
			}
		}
	}
	return all
}

// TestServedCost holds go-fuse to what the package comment says: it allocates
// small things for each request, but never a buffer. The log has the figures.
func TestServedCost(t *testing.T) {
	if raceDetector {
		t.Skip("under the race detector sync.Pool drops what it is given, at random")
	}
	const n = 4000
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	for name, request := range requests(t, d) {
		m := meterOf(d, request)
		for range n {
			request()
		}
		objects, bytes := m.read(n)
		t.Logf("%s: %.1f objects, %.0f bytes", name, objects, bytes)
		// On a busy machine there are more requests (the kernel tells of each
		// signal that we get while we wait) and more buffers in use: of 1 MiB
		// each, but as many as there are requests at once, not one a request.
		buffers := float64(2 * requestsAtOnce() << 20 / n)
		if objects > 40 || bytes > 1200+buffers {
			t.Errorf("%s: %.1f objects and %.0f bytes a request", name, objects, bytes)
		}
	}
}

// BenchmarkServed times one request at a time, from another process, and counts
// what the serving process allocates for it.
func BenchmarkServed(b *testing.B) {
	sizes := map[string]int64{"read4KiB": pageSize, "write4KiB": pageSize, "read1MiB": 1 << 20, "write1MiB": 1 << 20}
	d := newDevice(b, serveConfig{Disksize: smallDisk})
	for name, request := range requests(b, d) {
		b.Run(name, func(b *testing.B) {
			m := meterOf(d, request)
			b.SetBytes(sizes[name])
			for b.Loop() {
				request()
			}
			objects, bytes := m.read(b.N)
			b.ReportMetric(objects, "objects/op")
			b.ReportMetric(bytes, "heapbytes/op")
		})
	}
}
