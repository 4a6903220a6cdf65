// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"encoding/binary"
	"errors"
	"testing"

	"zramfs/codec/bulk"
	"zramfs/gpu/kernels"
)

// What a kernel cannot have said is believed of none: a device that has other memory before it than the CPU would otherwise be trusted with what its pages consist of.
func TestResultsThatMakeNoSense(t *testing.T) {
	b := bulk.NewBatch(bulk.Compress, 1)
	b.Pages = text(1)
	first := binary.LittleEndian.Uint64(b.Pages)
	s, p, arena := &slot{}, piece(b), make([]byte, 64)
	for name, r := range map[string]kernels.Result{
		"zeros":          {Kind: kernels.KindSame},
		"its first word": {Kind: kernels.KindSame, Word: first},
		"an empty one":   {Kind: kernels.KindLZ4},
		"too long":       {Kind: kernels.KindLZ4, Length: longestObject + 1},
		"too far behind": {Kind: kernels.KindLZ4, Offset: 48, Length: 17},
		"no space":       {Kind: kernels.KindNoSpace},
		"another kind":   {Kind: 77},
	} {
		if at, err := s.store(p, 0, r, arena, 0); !errors.Is(err, errResult) || at != 0 || b.Verdict[0] != bulk.Pending {
			t.Errorf("%s: %v, the next object at %d, the page %s", name, err, at, b.Verdict[0])
		}
	}
}
