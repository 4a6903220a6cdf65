// SPDX-License-Identifier: Apache-2.0

package view

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

func TestSortPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, bits := range []int{1, 10, 11, 12, 23, image.WhereBits} {
		for _, n := range []int{0, 1, 2, 1000, 70000} {
			places := make([]uint64, n)
			for i := range places {
				places[i] = rng.Uint64N(1<<bits)<<surveyBits | uint64(i)
			}
			want := slices.Sorted(slices.Values(places))
			if got := sortPlaces(places, make([]uint64, n)); !slices.Equal(got, want) {
				t.Errorf("%d places of %d bits are not sorted", n, bits)
			}
		}
	}
}
