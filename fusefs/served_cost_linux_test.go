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

// meterOf starts a meter, after what is made on first use has been made.
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

// traffic is reads and writes of 4 KiB and 1 MiB at random places.
func traffic(tb testing.TB, d *device) map[string]func() {
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

// TestServedCost: a request on the page path allocates nothing in the serving process. The
// remaining allocations come from the commands.
func TestServedCost(t *testing.T) {
	n := 4000
	if testing.Short() {
		n = 2000 // each may wait for a processor, some milliseconds on a busy machine
	}
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	for name, request := range traffic(t, d) {
		m := meterOf(d, request)
		for range n {
			request()
		}
		objects, bytes := m.read(n)
		t.Logf("%s: %.3f objects, %.1f bytes", name, objects, bytes)
		if objects > 0.1 || bytes > 20 {
			t.Errorf("%s: %.3f objects and %.1f bytes a request", name, objects, bytes)
		}
	}
}

// BenchmarkServed times one request at a time, from another process, and counts
// what the serving process allocates for it.
func BenchmarkServed(b *testing.B) {
	sizes := map[string]int64{"read4KiB": pageSize, "write4KiB": pageSize, "read1MiB": 1 << 20, "write1MiB": 1 << 20}
	d := newDevice(b, serveConfig{Disksize: smallDisk})
	for name, request := range traffic(b, d) {
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
