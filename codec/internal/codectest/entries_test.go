// SPDX-License-Identifier: Apache-2.0

package codectest

import (
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/impl"
	"github.com/zramfs/zramfs/internal/require"
)

func TestEachEntryRunsWhatIsUsableHere(t *testing.T) {
	// No entry of a table in a test may be demanded of this machine.
	t.Setenv(require.Variable, "")
	var table impl.Table[impl.Set]
	for _, set := range []impl.Set{impl.AVX512, impl.AVX2, impl.NEON, impl.Generic} {
		table = append(table, impl.Entry[impl.Set]{Set: set, F: set})
	}
	var ran []impl.Set
	EachEntry(t, table, func(t *testing.T, e impl.Entry[impl.Set]) {
		if e.F != e.Set {
			t.Errorf("the entry of %s holds that of %s", e.Set, e.F)
		}
		ran = append(ran, e.Set)
	})
	if want := impl.Usable(); !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
}
