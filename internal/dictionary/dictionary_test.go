// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"context"
	"testing"
)

// TestStride wants every page of a file seen once.
func TestStride(t *testing.T) {
	for total := int64(1); total < 300; total++ {
		seen := map[int64]bool{}
		for i, at := int64(0), int64(0); i < total; i, at = i+1, (at+stride(total))%total {
			seen[at] = true
		}
		if int64(len(seen)) != total {
			t.Errorf("%d of %d", len(seen), total)
		}
	}
}

// sparseSource has usable pages at a fixed distance.
type sparseSource struct{ pages, distance int64 }

func (s sparseSource) Count() int64 { return s.pages }
func (s sparseSource) Close() error { return nil }
func (s sparseSource) Page(_ context.Context, n int64) ([]byte, error) {
	if n%s.distance != 0 {
		return nil, nil
	}
	return make([]byte, pageSize), nil
}

// shownSteps is a progress that records its steps.
type shownSteps struct {
	sums []uint64
}

func (s *shownSteps) Add(more uint64) error {
	if n := len(s.sums); n > 0 {
		more += s.sums[n-1]
	}
	s.sums = append(s.sums, more)
	return nil
}
func (s *shownSteps) End() error { return nil }

// dict train's bar grows evenly and is full at the end, whether the pages or the reads run out
// first.
func TestProgress(t *testing.T) {
	for _, source := range []sparseSource{{100_000, 1}, {4096, 1}, {20_000, 50}, {100, 1}, {64, 65}, {1 << 20, 20}} {
		var shown shownSteps
		pages, err := collect(t.Context(), source, &shown)
		if err != nil {
			t.Fatal(err)
		}
		n := len(shown.sums)
		if n == 0 || shown.sums[n-1] != trainPages {
			t.Fatalf("%+v: %d pages found, the bar ends at %v of %d", source, len(pages), shown.sums[max(n-1, 0):], trainPages)
		}
		if half := shown.sums[n/2]; half < trainPages/3 || half > trainPages*2/3 {
			t.Errorf("%+v: in the middle the bar shows %d of %d", source, half, trainPages)
		}
	}
}
