// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/imageio"
)

// A subject is one algorithm, its engines and the entries of its table.
type subject struct {
	algorithm codec.Algorithm
	one, all  *bulk.Planner // with one worker; with a worker on each core and the engines
	engines   []bulk.Engine // other than the CPU
	ratio     float64       // of the last objects of the first round
	entries   []*entry
}

// An entry is an operation, the engines that share it and their measurements.
type entry struct {
	op    bulk.Op
	by    string
	mode  bulk.Mode
	alone bool // by one worker
	pages int  // of a batch
	idle  bool // no engine other than the CPU can do any of it
	ratio float64
	times []time.Duration
	sum   bulk.Report
	last  bulk.Report
}

// newSubject makes a subject. The plain copy has only the CPU, and no verification: only
// decompression moves the bytes of pages that are stored as they are.
func (r *bulkRun) newSubject(a codec.Algorithm) (t *subject, err error) {
	operations := []bulk.Op{bulk.Compress, bulk.Decompress}
	if a.String() != rawName {
		operations = append(operations, bulk.Verify)
	}
	t = &subject{algorithm: a, engines: r.engines.lend(a)}
	if t.all, err = imageio.NewPlanner(a, 0, t.engines, r.made.N); err != nil {
		return nil, err
	}
	if t.one, err = imageio.NewPlanner(a, 1, nil, r.made.N); err != nil {
		return nil, errors.Join(err, t.all.Close())
	}
	for _, op := range operations {
		t.entries = append(t.entries, t.entriesFor(op, r.made.N)...)
	}
	return t, nil
}

// entriesFor returns the entries of an operation. One worker gets at most SamplePages pages, which
// are enough to measure it.
func (t *subject) entriesFor(op bulk.Op, batch int) []*entry {
	one := &entry{op: op, by: imageio.CPUName, mode: bulk.CPUAlone, alone: true, pages: batch}
	entries := []*entry{one}
	if runtime.GOMAXPROCS(0) > 1 {
		one.pages = min(batch, SamplePages)
		entries = append(entries, &entry{op: op, by: imageio.CPUName, mode: bulk.CPUAlone, pages: batch})
	}
	if names := t.names(); len(names) > 0 {
		together := strings.Join(names, "+")
		entries = append(entries, &entry{op: op, by: together, mode: bulk.EnginesAlone, pages: batch},
			&entry{op: op, by: imageio.CPUName + "+" + together, mode: bulk.Shared, pages: batch})
	}
	return entries
}

// names returns the names of the engines other than the CPU.
func (t *subject) names() (names []string) {
	for _, e := range t.engines {
		names = append(names, e.Name())
	}
	return names
}
