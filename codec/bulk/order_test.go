// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec"
)

// Items are queued by the engines that can do them and else as they come, and each engine's limit
// is the first item that it cannot do.
func TestOrder(t *testing.T) {
	const a, b, c = codec.LZ4, codec.Page, codec.Zstd
	for name, test := range map[string]struct {
		ids    []codec.ID
		engine [2][]codec.ID
		want   []uint32
		limits [2]int
	}{
		"nothing":               {nil, [2][]codec.ID{{a}, {a}}, nil, [2]int{0, 0}},
		"all by both":           {[]codec.ID{a, a, a}, [2][]codec.ID{{a}, {a}}, []uint32{0, 1, 2}, [2]int{3, 3}},
		"none by any":           {[]codec.ID{c, c, c}, [2][]codec.ID{{a}, {a}}, []uint32{0, 1, 2}, [2]int{0, 0}},
		"mixed":                 {[]codec.ID{c, a, c, a, b}, [2][]codec.ID{{a}, {a}}, []uint32{1, 3, 0, 2, 4}, [2]int{2, 2}},
		"one knows more":        {[]codec.ID{c, b, a, c, b, a}, [2][]codec.ID{{a}, {a, b}}, []uint32{2, 5, 1, 4, 0, 3}, [2]int{2, 4}},
		"the other knows more":  {[]codec.ID{c, b, a, c, b, a}, [2][]codec.ID{{a, b}, {b}}, []uint32{1, 4, 2, 5, 0, 3}, [2]int{4, 2}},
		"each knows one":        {[]codec.ID{b, a, b, a}, [2][]codec.ID{{a}, {b}}, []uint32{1, 3, 0, 2}, [2]int{2, 0}},
		"no item of the common": {[]codec.ID{b, b}, [2][]codec.ID{{a}, {a, b}}, []uint32{0, 1}, [2]int{0, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			var engines []*member
			for _, ids := range test.engine {
				engines = append(engines, newMember(&second{ids: ids}, Config{}))
			}
			classes := classify(Decompress, engines)
			var o order
			o.sort(&Batch{Op: Decompress, N: len(test.ids), ID: test.ids}, &classes)
			limits := [2]int{o.limit(&classes, 0), o.limit(&classes, 1)}
			if !slices.Equal(o.items, test.want) || limits != test.limits {
				t.Errorf("%v with the limits %v, want %v with %v", o.items, limits, test.want, test.limits)
			}
		})
	}
}
