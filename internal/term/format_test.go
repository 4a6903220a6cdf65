// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHumanSizeRecorded compares with what zramctl and lsblk printed for the same numbers;
// testdata/sizes.txt says how it was recorded.
func TestHumanSizeRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/sizes.txt")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var n uint64
		var want string
		if _, err := fmt.Sscan(line, &n, &want); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if got := Size(n); got != want {
			t.Errorf("humanSize(%d) = %s, want %s", n, got, want)
		}
		compared++
	}
	if compared < 600 {
		t.Errorf("compared %d sizes, want 600 at least", compared)
	}
}

func TestHumanTime(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{0, "0s"}, {59*time.Second + 900*time.Millisecond, "59s"}, {60 * time.Second, "1m0s"},
		{725 * time.Second, "12m5s"}, {11520 * time.Second, "3h12m"}, {125 * time.Hour, "5d5h"},
	}
	for _, test := range tests {
		if got := Time(test.d); got != test.want {
			t.Errorf("humanTime(%v) = %s, want %s", test.d, got, test.want)
		}
	}
}

func TestHumanShare(t *testing.T) {
	tests := []struct {
		part, whole uint64
		want        string
	}{
		{0, 0, "0%"}, {0, 5, "0%"}, {1, 1000, "<1%"}, {1, 3, "33%"}, {1, 2, "50%"}, {999, 1000, ">99%"}, {5, 5, "100%"},
	}
	for _, test := range tests {
		if got := Share(test.part, test.whole); got != test.want {
			t.Errorf("humanShare(%d, %d) = %s, want %s", test.part, test.whole, got, test.want)
		}
	}
}

func TestShareOf(t *testing.T) {
	var got []string
	for _, share := range []float64{0, 0.001, 0.041, 0.5, 0.999, 1} {
		got = append(got, ShareOf(share))
	}
	if want := []string{"0%", "<1%", "4%", "50%", ">99%", "100%"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"lz4": "lz4", "lz4:simd=avx2": "lz4:simd=avx2", "zstd(level=1)": "'zstd(level=1)'", "it's": `'it'\''s'`, "a b": "'a b'", "$x": "'$x'",
		"caf\xe9 $x": `$'caf\xe9 $x'`, "it's\x1b\\\n": `$'it\'s\x1b\\\x0a'`,
	} {
		if got := ShellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
