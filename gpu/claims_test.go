// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"bytes"
	"context"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/internal/pages"
)

// G.115: four slots keep the way back of the link busy while objects come in and kernels run. The
// rate of a device in GB/s is for gpu/check.sh to measure. Here the link is so slow that the time
// of simulated kernels does not matter.
func TestG115StreamsAtTheLinksSpeed(t *testing.T) {
	// One after the other it would be 0.55 at best; the first and last pieces share with no other.
	const speed, n, wanted = 500e3, 256, 0.7
	s := driver.NewSimulator(driver.SimulatedDevice{Link: speed})
	e := openEngine(t, s, Options{Batch: 32, Slots: 4, Path: Copied, Driver: driver.Options{Limit: patience}})
	p := newPlanner(t, bulk.EnginesAlone, e)
	link, err := e.measureLink(t.Context(), 4096)
	if err != nil {
		t.Fatal(err)
	}
	b := lz4Objects(t, bytes.Join(pages.Generate(pages.Text, n, 1), nil))
	r := run(t, p, b)
	share := float64(n*codec.PageSize) / r.Elapsed.Seconds() / link.FromDevice
	kernel := e.Stats(bulk.Decompress).Times.Kernel
	t.Logf("%.2f of the link's %.0f bytes a second, kernels took %v of %v; the figure is a device's", share, link.FromDevice, kernel, r.Elapsed)
	if e.Stats(bulk.Decompress).Pages != n || r.Engines[1].Lanes != 4 {
		t.Errorf("%+v", r)
	}
	if share < wanted && kernel.Seconds() < 0.4*r.Elapsed.Seconds() {
		t.Errorf("%.2f of the link, want %.2f", share, wanted)
	}
}

// lz4Objects makes a batch to decompress of the pages that LZ4 does not leave raw.
func lz4Objects(t *testing.T, all []byte) *bulk.Batch {
	t.Helper()
	n := len(all) / codec.PageSize
	b := bulk.NewBatch(bulk.Compress, n)
	b.Pages = all
	if r := run(t, newPlanner(t, bulk.CPUAlone), b); r.Verdicts[bulk.Done] != n {
		t.Fatalf("%+v", r)
	}
	for i := range n {
		if b.ID[i] != codec.LZ4 {
			t.Fatalf("page %d is stored as %s", i, b.ID[i])
		}
	}
	return copyOf(b, bulk.Decompress)
}

// G.116: the objects of mixed data are at most 1/1.8 of it. The ratio is the same on a device,
// since the kernel is.
func TestG116RatioOnMixedData(t *testing.T) {
	const wanted = 1.8
	n := large() / 4
	e := openEngine(t, simulated(1), small())
	b := bulk.NewBatch(bulk.Compress, n)
	b.Pages = memory(n, 116)
	r := run(t, newPlanner(t, bulk.EnginesAlone, e), b)
	ratio := float64(len(b.Pages)) / float64(r.Objects)
	t.Logf("ratio %.2f, %.0f %% of the pages by the engine", ratio, 100*r.Share(e.Name()))
	if ratio < wanted {
		t.Errorf("ratio %.2f, want %.2f", ratio, wanted)
	}
	if n >= 64 && r.Share(e.Name()) < 0.7 {
		t.Errorf("the engine did %.2f of the batch", r.Share(e.Name()))
	}
	back := copyOf(b, bulk.Decompress)
	if err := newPlanner(t, bulk.CPUAlone).Run(context.Background(), back, nil); err != nil || !bytes.Equal(back.Pages, b.Pages) {
		t.Errorf("the pages do not come back: %v", err)
	}
}
