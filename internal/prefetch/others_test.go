// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"os"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/internal/procpages"
)

// Others has no process without pages in swap, and not the caller.
func TestOthers(t *testing.T) {
	pids, err := Others()
	if err != nil || slices.Contains(pids, os.Getpid()) {
		t.Errorf("%v, %v", pids, err)
	}
	all, err := procpages.Processes()
	if err != nil || len(pids) >= len(all) { // the kernel's own have none
		t.Errorf("%d of %d processes, %v", len(pids), len(all), err)
	}
}
