// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"testing"

	"zramfs/fusefs/internal/ring"
	"zramfs/internal/require"
)

// A processor has come up since the session was made: the next server lays the rings
// out as the last one did, or it could not go on.
func TestRingsStayAsTheyWere(t *testing.T) {
	require.Uring(t)
	cpus, err := ring.ReadCPUs()
	if err != nil {
		t.Fatal(err)
	}
	before, err := cpus.WithOnline(cpus.Online()[:1])
	if err != nil {
		t.Fatal(err)
	}
	const entries = 4
	size := ring.Config{CPUs: before, Entries: entries, Payload: leftTransfer}.Size()
	l := newLeftOf(t, requestsShape{attributes: 1, data: 2, transfer: leftTransfer,
		entries: entries, rings: (size + pageSize - 1) &^ (pageSize - 1), online: processorSetOf(before.Online())})
	s := l.successor()
	if got := len(s.data.paces); got != 1 {
		t.Errorf("%d workers where one was", got)
	}
	if err := s.data.rings.Close(); err != nil {
		t.Error(err)
	}
}

func TestProcessorSet(t *testing.T) {
	for _, list := range [][]int{nil, {0}, {0, 1, 63, 64, 2047}} {
		got := processorSetOf(append(list, 2048, 8191)).list() // there is no room for these
		if len(got) != len(list) {
			t.Fatalf("%v became %v", list, got)
		}
		for i := range list {
			if got[i] != list[i] {
				t.Errorf("%v became %v", list, got)
			}
		}
	}
}
