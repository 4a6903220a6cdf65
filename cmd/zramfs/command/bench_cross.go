// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"math"
	"time"

	"github.com/zramfs/zramfs/codec/bulk"
)

const (
	// firstCross is the smallest batch that a crossover is looked for at, and lastCross the largest:
	// 512 MiB. Each is measured crossTries times, and those of more than manyPages pages sizeTries
	// times, as the sizes are.
	firstCross = 64
	lastCross  = 1 << 17
	crossTries = 5
	manyPages  = 1 << 14
	sizeTries  = 2
)

// crossSizes are the batches that the CPU and the engines are compared at besides, in GB of 10^9
// bytes.
var crossSizes = []int{1, 2, 3, 5}

// bulkCrossover is the smallest batch from which on the other engines alone are faster than the CPU
// alone.
type bulkCrossover struct {
	Algorithm string     `json:"algorithm"`
	Operation string     `json:"operation"`
	Pages     *int       `json:"pages"` // null where they are not, up to the batch that was measured
	Upto      int        `json:"upto_pages"`
	Sizes     []bulkSize `json:"sizes"` // those that a batch is large enough for
}

// A bulkSize is a batch that the CPU alone and the other engines alone were measured with.
type bulkSize struct {
	GB      int     `json:"gb"`
	CPU     float64 `json:"cpu_mb_s"`
	Engines float64 `json:"engines_mb_s"`
}

// pagesOf is how many pages so many GB are.
func (r *bulkRun) pagesOf(gb int) int { return (gb*r.gigabyte + pageSize - 1) / pageSize }

// crossovers finds, for each operation, the smallest batch from which on the other engines alone
// are faster than the CPU alone, in powers of two, and compares them at some sizes.
func (r *bulkRun) crossovers(ctx context.Context, t *team) error {
	if len(t.loans) == 0 {
		return nil
	}
	most := min(lastCross, r.made.N)
	for _, gb := range crossSizes {
		if n := r.pagesOf(gb); n <= r.made.N {
			most = max(most, n)
		}
	}
	// Of the objects in memory some may be another algorithm's, and others overwritten.
	if err := r.give(ctx, t, &crew{op: bulk.Compress, mode: bulk.CPUAlone}, most); err != nil {
		return err
	}
	for _, op := range []bulk.Op{bulk.Compress, bulk.Decompress, bulk.Verify} {
		if !r.able(t, op) {
			continue
		}
		found, err := r.crossover(ctx, t, op)
		if err != nil {
			return err
		}
		t.cross = append(t.cross, found)
	}
	return nil
}

// crossover does it for one operation.
func (r *bulkRun) crossover(ctx context.Context, t *team, op bulk.Op) (found bulkCrossover, err error) {
	found = bulkCrossover{Algorithm: t.algorithm.String(), Operation: op.String(), Upto: min(lastCross, r.made.N), Sizes: []bulkSize{}}
	for n := min(firstCross, found.Upto); ; n = min(2*n, found.Upto) { // each n is its own
		cpu, engines, err := r.sideBySide(ctx, t, op, n)
		if err != nil {
			return found, err
		}
		if engines >= cpu {
			found.Pages = nil
		} else if found.Pages == nil {
			found.Pages = &n
		}
		if n == found.Upto {
			break
		}
	}
	for _, gb := range crossSizes {
		n := r.pagesOf(gb)
		if n > r.made.N {
			break
		}
		cpu, engines, err := r.sideBySide(ctx, t, op, n)
		if err != nil {
			return found, err
		}
		found.Sizes = append(found.Sizes, bulkSize{gb, speedOf(n, cpu), speedOf(n, engines)})
	}
	return found, nil
}

// sideBySide returns the shortest times of the CPU alone and of the other engines alone for n
// items.
func (r *bulkRun) sideBySide(ctx context.Context, t *team, op bulk.Op, n int) (cpu, engines time.Duration, err error) {
	if cpu, err = r.shortest(ctx, t, &crew{op: op, mode: bulk.CPUAlone}, n); err == nil {
		engines, err = r.shortest(ctx, t, &crew{op: op, mode: bulk.EnginesAlone}, n)
	}
	return cpu, engines, err
}

// shortest returns the shortest time of several that a crew takes for n items.
func (r *bulkRun) shortest(ctx context.Context, t *team, c *crew, n int) (time.Duration, error) {
	shortest, tries := time.Duration(math.MaxInt64), crossTries
	if n > manyPages {
		tries = sizeTries
	}
	for range tries {
		if err := r.give(ctx, t, c, n); err != nil {
			return 0, err
		}
		shortest = min(shortest, c.last.Elapsed)
	}
	return shortest, r.tick()
}

// speedOf is bytes of pages a microsecond.
func speedOf(pages int, took time.Duration) float64 {
	return float64(pages) * pageSize / 1e6 / max(took, time.Nanosecond).Seconds()
}
