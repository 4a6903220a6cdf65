// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Counting open files, as Unmount does, may coincide with Close, which unmaps the memory of the
// counts.
func TestCloseWaitsForCounts(t *testing.T) {
	for range 50 {
		s := &Session{}
		if err := s.makeRequests(requestsShape{attributes: 1, data: 2, transfer: leftTransfer}); err != nil {
			t.Fatal(err)
		}
		var counting sync.WaitGroup
		var counts atomic.Int64
		var closed atomic.Bool
		counting.Go(func() {
			for !closed.Load() {
				if n := s.OpenCount(); n != 0 {
					t.Errorf("%d are open", n)
				}
				counts.Add(1)
			}
		})
		for counts.Load() == 0 { // until it is at it
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		closed.Store(true)
		counting.Wait()
	}
}
