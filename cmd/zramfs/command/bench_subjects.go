// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/imaging"
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
)

// A subject is one algorithm, the engines that work for it and the lines of its table.
type subject struct {
	algorithm codec.Algorithm
	one, all  *bulk.Planner // with one worker; with a worker on each core and the other engines
	engines   []bulk.Engine // those besides
	ratio     float64       // of the objects that were made last in the first round
	entries   []*entry
}

// A entry is who works at one operation together, and what was measured of them.
type entry struct {
	op    bulk.Op
	by    string
	mode  bulk.Mode
	alone bool // one worker
	pages int  // of a batch
	idle  bool // the other engines can do nothing of it
	ratio float64
	times []time.Duration
	sum   bulk.Report
	last  bulk.Report
}

// newSubject makes one. For the plain copy there are no other engines, and reading is all that copies:
// what is stored raw is not moved.
func (r *bulkRun) newSubject(a codec.Algorithm) (t *subject, err error) {
	operations := []bulk.Op{bulk.Compress, bulk.Decompress}
	if a.String() != rawName {
		operations = append(operations, bulk.Verify)
	}
	t = &subject{algorithm: a, engines: r.engines.lend(a)}
	if t.all, err = imaging.NewPlanner(a, 0, t.engines, r.made.N); err != nil {
		return nil, err
	}
	if t.one, err = imaging.NewPlanner(a, 1, nil, r.made.N); err != nil {
		return nil, errors.Join(err, t.all.Close())
	}
	for _, op := range operations {
		t.entries = append(t.entries, t.entriesFor(op, r.made.N)...)
	}
	return t, nil
}

// entriesFor returns who does an operation. One worker has no more pages than it takes to know how
// fast it is, if there are more.
func (t *subject) entriesFor(op bulk.Op, batch int) []*entry {
	one := &entry{op: op, by: imaging.CPUName, mode: bulk.CPUAlone, alone: true, pages: batch}
	entries := []*entry{one}
	if runtime.GOMAXPROCS(0) > 1 {
		one.pages = min(batch, benchPages)
		entries = append(entries, &entry{op: op, by: imaging.CPUName, mode: bulk.CPUAlone, pages: batch})
	}
	if names := t.names(); len(names) > 0 {
		together := strings.Join(names, "+")
		entries = append(entries, &entry{op: op, by: together, mode: bulk.EnginesAlone, pages: batch},
			&entry{op: op, by: imaging.CPUName + "+" + together, mode: bulk.Shared, pages: batch})
	}
	return entries
}

// names are those of the other engines.
func (t *subject) names() (names []string) {
	for _, e := range t.engines {
		names = append(names, e.Name())
	}
	return names
}
