// SPDX-License-Identifier: Apache-2.0

package fusefs

import "testing"

// For any number of processors, and of threads in the session, the threads that may wait for memory
// leave enough for all turns. Otherwise no thread would read.
func TestWaitingLeavesThreadsForTurns(t *testing.T) {
	for _, threads := range []int{2, 3, 4, 8, 16} {
		l := newLeftOf(t, requestsShape{attributes: 1, data: threads, transfer: leftTransfer})
		waiting, err := l.session.Files().MaxWaiting()
		if err != nil {
			t.Fatal(err)
		}
		if turns := cap(l.successor().data.turns); turns < 1 || waiting < 1 || turns+waiting > threads {
			t.Errorf("%d threads: %d have a turn and %d may wait", threads, turns, waiting)
		}
	}
}
