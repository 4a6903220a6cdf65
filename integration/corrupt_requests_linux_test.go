// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// TestCorruptRequests flips bits that each worker needs of the memory of requests, and kills the
// worker: the next one finds them restored, instead of ending as all after it would, and every page
// is right.
func TestCorruptRequests(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	f, content := corruptible(t)
	memory := requestsOf(t, f.pid)
	c := newCrashing(t, f.dir)
	for _, at := range []int64{0, 24, 40, 89, 260, 552} { // words, INIT requests
		if err := flipBit(memory, at, 3); err != nil {
			t.Fatal(err)
		}
		c.kill()
		if right, failed := readRounds(t, f.dir, content, 1); failed > 0 || right < len(content) {
			t.Fatalf("byte %d: %d pages are right, %d errors", at, right, failed)
		}
	}
	f.log.wait(t, "the memory of requests was damaged and is restored")
}
