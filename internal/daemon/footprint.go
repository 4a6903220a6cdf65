// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"strconv"

	"github.com/zramfs/zramfs/internal/host"
)

// processMemory returns the memory of this worker and its keeper without the image, in bytes; 0
// where it is unknown. The memory of requests, which both map, and their code count once. With kept
// false the keeper has died.
func processMemory(requests uint64, kept bool) uint64 {
	own, err := host.Local.Usage("self")
	if err != nil {
		return 0
	}
	var keeper host.Usage
	if kept {
		keeper, _ = host.Local.Usage(strconv.Itoa(own.Parent)) // zero where it has just died
	}
	return requests + own.Anon + keeper.Anon + max(own.File, keeper.File) + own.Tables + keeper.Tables
}
