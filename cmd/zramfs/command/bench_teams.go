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

// A team is those who work for one algorithm.
type team struct {
	algorithm codec.Algorithm
	one, all  *bulk.Planner // with one worker and nobody else; with a worker on each core and the other engines
	loans     []bulk.Engine // those besides
	ratio     float64       // of the objects that were made last in the first round
	crews     []*crew
}

// A crew is who works at one operation together, and what was measured of them.
type crew struct {
	op    bulk.Op
	by    string
	mode  bulk.Mode
	alone bool // one worker
	pages int  // of a batch
	idle  bool // nobody of it but the CPU can do anything
	ratio float64
	times []time.Duration
	sum   bulk.Report
	last  bulk.Report
}

// newTeam makes one. For the plain copy there are no other engines, and reading is all that copies:
// what is stored raw is not moved.
func (r *bulkRun) newTeam(a codec.Algorithm) (t *team, err error) {
	operations := []bulk.Op{bulk.Compress, bulk.Decompress}
	if a.String() != rawName {
		operations = append(operations, bulk.Verify)
	}
	t = &team{algorithm: a, loans: r.engines.lend(a)}
	if t.all, err = imaging.NewPlanner(a, 0, t.loans, r.made.N); err != nil {
		return nil, err
	}
	if t.one, err = imaging.NewPlanner(a, 1, nil, r.made.N); err != nil {
		return nil, errors.Join(err, t.all.Close())
	}
	for _, op := range operations {
		t.crews = append(t.crews, t.crewsFor(op, r.made.N)...)
	}
	return t, nil
}

// crewsFor returns who does an operation. One worker has no more pages than it takes to know how
// fast it is, if there are more.
func (t *team) crewsFor(op bulk.Op, batch int) []*crew {
	one := &crew{op: op, by: imaging.CPUName, mode: bulk.CPUAlone, alone: true, pages: batch}
	crews := []*crew{one}
	if runtime.GOMAXPROCS(0) > 1 {
		one.pages = min(batch, benchPages)
		crews = append(crews, &crew{op: op, by: imaging.CPUName, mode: bulk.CPUAlone, pages: batch})
	}
	if names := t.names(); len(names) > 0 {
		together := strings.Join(names, "+")
		crews = append(crews, &crew{op: op, by: together, mode: bulk.EnginesAlone, pages: batch},
			&crew{op: op, by: imaging.CPUName + "+" + together, mode: bulk.Shared, pages: batch})
	}
	return crews
}

// names are those of the other engines.
func (t *team) names() (names []string) {
	for _, e := range t.loans {
		names = append(names, e.Name())
	}
	return names
}
