// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// Sizes are exact, and rounded up to whole pages.
func TestParseBytes(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "1": 4096, "4096": 4096, "4097": 8192, "4.096KB": 4096, "4.0960001KB": 8192, "4K": 4096, "1M": 1 << 20, "1MiB": 1 << 20, "1MB": 1003520,
		"1.5g": 3 << 29, ".5G": 1 << 29, "1.": 4096, "16T": MaxSize, "50%": 1 << 29, "0.1%": 1077248, "33.3333333333333333333333%": 357916672,
		"0.00000000000000000001T": 4096, "000000000000000000000000000001M": 1 << 20, "0.015625P": MaxSize,
	} {
		if got, err := ParseBytes(text, 1<<30); got != want || err != nil {
			t.Errorf("%s is %d, %v, want %d", text, got, err, want)
		}
	}
	for text, word := range map[string]string{
		"": "not a size", ".": "not a size", "1.2.3": "not a size", "1e3": "not a size", "+1": "not a size", "1_000": "not a size", "x": "not a size",
		"1 ": "not a size", "G": "not a size", "1/2": "not a size", "-1": "negative", "1KG": "not a unit", "1%%": "not a unit", "16.0001T": "beyond", "1E": "beyond",
		"99999999999999999999999999": "beyond", "999999999999999999E": "beyond", "99999999999999999999%": "beyond",
	} {
		if got, err := ParseBytes(text, 1<<30); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q is %d, %v, want %q", text, got, err, word)
		}
	}
	if _, err := ParseBytes("50%", 0); err == nil {
		t.Error("a share of an unknown size has a size")
	}
}

// Random numbers are what exact arithmetic makes of them.
func TestParseBytesIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := fmt.Sprintf("%d.%0*d", rng.Uint64N(2000), 1+rng.IntN(12), rng.Uint64N(1000))
		unit := "KMG"[rng.IntN(3)]
		exact, _ := new(big.Rat).SetString(text)
		exact.Mul(exact, new(big.Rat).SetInt64(1<<(10*(1+strings.IndexByte("KMG", unit)))))
		pages := new(big.Rat).Quo(exact, big.NewRat(quantityPage, 1))
		want := new(big.Int).Quo(pages.Num(), pages.Denom()).Uint64()
		if !pages.IsInt() {
			want++
		}
		if got, err := ParseBytes(text+string(unit), 0); got != want*quantityPage || err != nil {
			t.Fatalf("%s%c is %d, %v, want %d", text, unit, got, err, want*quantityPage)
		}
	}
}
