// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// A thousand goroutines share the workers that a device would have: each takes a worker for a page
// and gives it back.
func TestF012ThousandGoroutines(t *testing.T) {
	const goroutines, workers, each = 1000, 4, 20
	base := codectest.Generated()
	for _, name := range []string{"adaptive", "lz4", "zstd(level=1)"} {
		t.Run(name, func(t *testing.T) {
			idle := make(chan *worker, workers)
			for range workers {
				idle <- newWorker(t, name)
			}
			failures := make(chan error, goroutines)
			var wg sync.WaitGroup
			for g := range goroutines {
				wg.Go(func() {
					page := make([]byte, PageSize)
					for i := range each {
						codectest.Derive(page, base, g*each+i)
						w := <-idle
						_, _, err := w.roundTrip(page)
						idle <- w
						if err != nil {
							failures <- fmt.Errorf("goroutine %d, page %d: %w", g, i, err)
							return
						}
					}
				})
			}
			wg.Wait()
			close(failures)
			for err := range failures {
				t.Error(err)
			}
		})
	}
}
