// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"math"
	"time"

	"zramfs/codec/bulk"
)

const (
	// firstCross is the smallest batch that a crossover is looked for at, and crossTries how often each is measured.
	firstCross = 64
	crossTries = 5
)

// crossovers finds, for each operation, the smallest batch from which on the other engines alone are faster than the CPU alone, in powers of two.
func (r *bulkRun) crossovers(ctx context.Context, t *team) error {
	if len(t.engines) == 0 {
		return nil
	}
	for _, op := range []bulk.Op{bulk.Compress, bulk.Decompress, bulk.Verify} {
		found := bulkCrossover{Algorithm: t.algorithm.String(), Operation: op.String()}
		for n := min(firstCross, r.made.N); ; n = min(2*n, r.made.N) { // each n is its own
			cpu, err := r.shortest(ctx, t, &crew{op: op, mode: bulk.CPUAlone}, n)
			if err != nil {
				return err
			}
			engines, err := r.shortest(ctx, t, &crew{op: op, mode: bulk.EnginesAlone}, n)
			if err != nil {
				return err
			}
			if engines >= cpu {
				found.Pages = nil
			} else if found.Pages == nil {
				found.Pages = &n
			}
			if err := r.tick(); err != nil {
				return err
			}
			if n == r.made.N {
				break
			}
		}
		t.cross = append(t.cross, found)
	}
	return nil
}

// shortest returns the shortest time of several that a crew takes for n items.
func (r *bulkRun) shortest(ctx context.Context, t *team, c *crew, n int) (time.Duration, error) {
	shortest := time.Duration(math.MaxInt64)
	for range crossTries {
		if err := r.give(ctx, t, c, n); err != nil {
			return 0, err
		}
		shortest = min(shortest, c.last.Elapsed)
	}
	return shortest, nil
}
