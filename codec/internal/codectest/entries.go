// SPDX-License-Identifier: Apache-2.0

package codectest

import (
	"testing"

	"github.com/zramfs/zramfs/codec/internal/impl"
	"github.com/zramfs/zramfs/internal/require"
)

// EachEntry runs f as a subtest for every implementation in table, named by its instruction set.
// One that cannot be used here is skipped, or fails where the environment demands its set (see
// package require), so that the fastest code is not left untested unnoticed.
func EachEntry[F any](t *testing.T, table impl.Table[F], f func(t *testing.T, e impl.Entry[F])) {
	t.Helper()
	for _, e := range table {
		t.Run(string(e.Set), func(t *testing.T) {
			if e.Set != impl.Generic {
				require.Instructions(t, string(e.Set), impl.Has(e.Set))
			}
			f(t, e)
		})
	}
}
