// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/loopsetup"
	"github.com/zramfs/zramfs/store"
)

const gib = 1 << 30

// TestF077SizeAccepted reads every form of a size.
func TestF077SizeAccepted(t *testing.T) {
	tests := []struct {
		text string
		ram  uint64
		want uint64
	}{
		{"auto", 6 * gib, 3 * gib},
		{"auto", 8 * gib, 4 * gib},
		{"auto", 64 * gib, 4 * gib},
		{"auto", 1002*4096 + 2, 502 * 4096},
		{"auto", 1<<20 + 2, 129 * 4096}, // half a page is rounded up
		{"4G", 0, 4 * gib},
		{"4g", 0, 4 * gib},
		{"4GiB", 0, 4 * gib},
		{"4gib", 0, 4 * gib},
		{"4GB", 0, 4_000_002_048}, // 4e9, in whole pages
		{"4096", 0, 4096},
		{"4096B", 0, 4096},
		{"1", 0, 4096},
		{"4097", 0, 8192},
		{"1.5G", 0, 3 * gib / 2},
		{".5M", 0, 1 << 19},
		{"1.M", 0, 1 << 20},
		{"0.0000001K", 0, 4096},
		{"8K", 0, 8192},
		{"8KB", 0, 8192},
		{"8KiB", 0, 8192},
		{"512M", 0, 512 << 20},
		{"16T", 0, 16 << 40},
		{"16777216M", 0, 16 << 40},
		{"17592186044416", 0, 16 << 40},
		{"17592186044415", 0, 16 << 40},
		{"50%", 8 * gib, 4 * gib},
		{"200%", 8 * gib, 16 * gib},
		{"12.5%", 8 * gib, gib},
		{"33%", 100 * 4096, 33 * 4096},
		{"1%", 4096, 4096},
		{"00004G", 0, 4 * gib},
	}
	for _, test := range tests {
		if got, err := parseSize(test.text, test.ram); err != nil || got != test.want {
			t.Errorf("parseSize(%q, %d) = %d, %v; want %d", test.text, test.ram, got, err, test.want)
		}
	}
}

// TestF077SizeRefused wants a usage error that names what was typed and says what is wrong with it.
func TestF077SizeRefused(t *testing.T) {
	tests := []struct{ text, want string }{
		{"0", "no size"}, {"0G", "no size"}, {"0%", "no size"}, {"0.0", "no size"},
		{"-1", "negative"}, {"-4G", "negative"}, {"-", "negative"}, {"--4G", "negative"},
		{"17T", "beyond 16T"}, {"16.0001T", "beyond 16T"}, {"17592186044417", "beyond 16T"}, {"1P", "beyond 16T"},
		{"1E", "beyond 16T"}, {"99999999999999999999999", "beyond 16T"}, {"9999999999%", "beyond 16T"},
		{"", "not a size"}, {"G", "not a size"}, {"%", "not a size"}, {"x", "not a size"}, {"4X", "not a size"},
		{"4 G", "not a size"}, {" 4G", "not a size"}, {"4G ", "not a size"}, {"1e9", "not a size"}, {"0x10", "not a size"},
		{"1/2", "not a size"}, {"1.2.3", "not a size"}, {".", "not a size"}, {"+4G", "not a size"}, {"1_000", "not a size"},
		{"Auto", "not a size"}, {"inf", "not a size"}, {"NaN", "not a size"}, {"٤G", "not a size"},
		{strings.Repeat("9", 1<<16), "not a size"},
		{"4GG", "not a unit"}, {"4i", "not a unit"}, {"4ib", "not a unit"}, {"4Gi", "not a unit"}, {"4BG", "not a unit"},
		{"5%%", "not a unit"}, {"5%G", "not a unit"}, {"5G%", "not a unit"}, {"5bb", "not a unit"},
	}
	for _, test := range tests {
		n, err := parseSize(test.text, 8*gib)
		code, text := describe(err)
		if err == nil || code != exitUsage || !strings.Contains(text, test.want) || !strings.Contains(text, test.text) {
			t.Errorf("parseSize(%.40q) = %d, %d, %.200s; want code %d and %q", test.text, n, code, text, exitUsage, test.want)
		}
	}
	for _, text := range []string{"auto", "50%"} {
		if n, err := parseSize(text, 0); err == nil || !strings.Contains(err.Error(), "RAM is not known") {
			t.Errorf("parseSize(%q, 0) = %d, %v; want an error about RAM", text, n, err)
		}
	}
}

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "0G": 0, "2G": 2 * gib, "50%": 4 * gib, "1": 4096} {
		if got, err := parseLimit(text, 8*gib); err != nil || got != want {
			t.Errorf("parseLimit(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"-1", "auto", "17T", "", "none"} {
		n, err := parseLimit(text, 8*gib)
		if code, message := describe(err); code != exitUsage || !strings.HasPrefix(message, "memory limit ") {
			t.Errorf("parseLimit(%q) = %d, %v; want a usage error", text, n, err)
		}
	}
}

// FuzzParseSize wants whole pages within the bounds or a usage error, never anything else.
func FuzzParseSize(f *testing.F) {
	for _, seed := range []string{"auto", "4G", "50%", "0", "1.5TiB", "-3", "9e9", "KB", ".%"} {
		f.Add(seed, uint64(8*gib))
	}
	f.Fuzz(func(t *testing.T, text string, ram uint64) {
		n, err := parseSize(text, ram%(64<<40))
		if err != nil {
			if code, _ := describe(err); code != exitUsage {
				t.Errorf("parseSize(%q): exit code %d", text, code)
			}
			return
		}
		if n%pageSize != 0 || n > term.MaxSize || n == 0 && text != "auto" {
			t.Errorf("parseSize(%q, %d) = %d", text, ram, n)
		}
	})
}

// TestBoundsAreIncluded takes the least and the greatest of what has bounds, and nothing beyond.
func TestBoundsAreIncluded(t *testing.T) {
	sampled := func(n int) error { _, err := sampleLimit(strconv.Itoa(n), 0); return err }
	every := func(d time.Duration) error {
		_, err := readInterval(strconv.FormatFloat(d.Seconds(), 'f', -1, 64))
		return err
	}
	swap := func(size uint64) error { return checkSwapSize("auto", size) }
	areas := func(n int) error {
		_, err := readAreas(parsedUp(t, "--"+flagDevices, strconv.Itoa(n)), 64*gib, loopsetup.MaxPriority, false)
		return err
	}
	least := uint64(1)
	for checkLimit(least, gib) != nil {
		least = max(least+1, store.LeastLimit(store.Config{Disksize: gib, MemLimit: least}))
	}
	for name, c := range map[string]struct{ inside, outside error }{
		"least sample":      {sampled(minSample), sampled(minSample - pageSize)},
		"greatest sample":   {sampled(maxSample), sampled(maxSample + 1)},
		"least interval":    {every(leastInterval), every(leastInterval - time.Millisecond)},
		"greatest interval": {every(longestInterval), every(longestInterval + time.Millisecond)},
		"least swap":        {swap(swapdev.MinArea), swap(swapdev.MinArea - 1)},
		"least areas":       {areas(1), areas(0)},
		"most areas":        {areas(swapdev.MaxAreas), areas(swapdev.MaxAreas + 1)},
		"least limit":       {checkLimit(least, gib), checkLimit(least-1, gib)},
	} {
		if c.inside != nil || c.outside == nil {
			t.Errorf("%s: %v; beyond it: %v", name, c.inside, c.outside)
		}
	}
	for text, meant := range map[string]string{"1023": "1023G?", "1024": "1024M?"} {
		if err := checkSwapSize(text, pageSize); err == nil || !strings.Contains(err.Error(), "Did you mean "+meant) {
			t.Errorf("%s bytes: %v", text, err)
		}
	}
}
