// SPDX-License-Identifier: Apache-2.0

package sysfstext

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"syscall"
	"testing"
)

// TestSize has results of the kernel's memparse; what it accepts is a number, or a suffix alone.
func TestSize(t *testing.T) {
	type result struct {
		n  uint64
		ok bool
	}
	for text, want := range map[string]result{
		"": {}, "xyz": {}, " 1M": {}, "-1": {}, "+1": {}, "\n": {},
		"0": {0, true}, "00": {0, true}, "0x": {0, true}, "08": {0, true}, "K": {0, true},
		"4096": {4096, true}, "4096\n": {4096, true}, "1M": {1 << 20, true}, "1m\n": {1 << 20, true}, "1M junk": {1 << 20, true},
		"2G": {2 << 30, true}, "3t": {3 << 40, true}, "1P": {1 << 50, true}, "1E": {1 << 60, true}, "1KiB": {1024, true},
		"0x10000": {65536, true}, "0X1fK": {31 << 10, true}, "010": {8, true}, "1\x00M": {1, true},
		"16E": {0, true}, "18446744073709551617": {1, true},
	} {
		if n, ok := Size([]byte(text)); n != want.n || ok != want.ok {
			t.Errorf("%q is %d, %v; want %d, %v", text, n, ok, want.n, want.ok)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		text string
		bits int
		want uint64
		err  error
	}{
		{"1", 16, 1, nil}, {"+1\n", 16, 1, nil}, {"65535", 16, 65535, nil}, {"007", 16, 7, nil},
		{"65536", 16, 0, syscall.ERANGE}, {"99999999999999999999", 64, 0, syscall.ERANGE}, {"99999999999999999999x", 64, 0, syscall.ERANGE},
		{"18446744073709551615", 64, math.MaxUint64, nil},
		{"", 16, 0, syscall.EINVAL}, {"x", 16, 0, syscall.EINVAL}, {" 1", 16, 0, syscall.EINVAL}, {"1 ", 16, 0, syscall.EINVAL},
		{"0x1", 16, 0, syscall.EINVAL}, {"-1", 16, 0, syscall.EINVAL}, {"1\n\n", 16, 0, syscall.EINVAL}, {"++1", 16, 0, syscall.EINVAL},
	} {
		if n, err := Unsigned([]byte(c.text), c.bits); n != c.want || !errors.Is(err, c.err) {
			t.Errorf("%q in %d bits is %d, %v; want %d, %v", c.text, c.bits, n, err, c.want, c.err)
		}
	}
	for text, want := range map[string]uint64{"0x10": 16, "010": 8, "+7\n": 7, "0": 0, "4294967295": math.MaxUint32} {
		if n, err := UnsignedOfAnyBase([]byte(text), 32); n != want || err != nil {
			t.Errorf("%q is %d, %v; want %d", text, n, err, want)
		}
	}
	for text, want := range map[string]error{"08": syscall.EINVAL, "0x": syscall.EINVAL, "4294967296": syscall.ERANGE, "-1": syscall.EINVAL, "": syscall.EINVAL} {
		if n, err := UnsignedOfAnyBase([]byte(text), 32); !errors.Is(err, want) {
			t.Errorf("%q is %d, %v; want %v", text, n, err, want)
		}
	}
	for text, want := range map[string]int64{"5": 5, "-5": -5, "+5": 5, "-2147483648": math.MinInt32, "2147483647": math.MaxInt32} {
		if n, err := Signed(text, 32); n != want || err != nil {
			t.Errorf("%q is %d, %v", text, n, err)
		}
	}
	for text, want := range map[string]error{"2147483648": syscall.ERANGE, "-2147483649": syscall.ERANGE, "": syscall.EINVAL, "-": syscall.EINVAL, "1.5": syscall.EINVAL} {
		if n, err := Signed(text, 32); !errors.Is(err, want) {
			t.Errorf("%q is %d, %v; want %v", text, n, err, want)
		}
	}
}

func TestArguments(t *testing.T) {
	for text, want := range map[string][]string{
		"":                          nil,
		" \n":                       nil,
		"algo=lz4":                  {"algo:lz4"},
		" algo=lz4\tlevel=3\n":      {"algo:lz4", "level:3"},
		"algo=":                     {"algo:"},
		"algo":                      {"algo:"},
		"=x":                        {"=x:"},
		`dict="/a b" x=1`:           {"dict:/a b", "x:1"},
		`"dict=/a b"`:               {"dict:/a b"},
		`"word"`:                    {"word:"},
		"algo=lz4,level=1":          {"algo:lz4,level=1"},
		"page_index=1 page_index=2": {"page_index:1", "page_index:2"},
	} {
		var got []string
		for key, value := range Arguments([]byte(text)) {
			got = append(got, fmt.Sprintf("%s:%s", key, value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}

func TestWord(t *testing.T) {
	for text, want := range map[string]string{"lz4\n": "lz4", "lz4\n\n": "lz4\n", " lz4": " lz4", "a\x00b\n": "a", "": ""} {
		if got := Word([]byte(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
