// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	opts, err := parse(strings.Fields("-binary /bin/zramfs -size 512m -rounds 5 -runtime 2s -anchor none -json"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := options{
		mode: modeBlock, size: 512 << 20, rounds: 5, runtime: 2 * time.Second, anchor: "none", json: true,
		contestants: []contestant{{name: "zramfs", binary: "/bin/zramfs", flags: []string{}}},
	}
	if !reflect.DeepEqual(opts, want) {
		t.Errorf("%+v, want %+v", opts, want)
	}
	opts, err = parse([]string{"block", "-device", "/dev/loop9"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if opts.size != 1<<30 || opts.rounds != 3 || opts.runtime != 4*time.Second || opts.anchor != "zram" || len(opts.contestants) != 0 {
		t.Errorf("defaults are %+v", opts)
	}
}

func TestParseShow(t *testing.T) {
	opts, err := parse(strings.Fields("show -binary /bin/zramfs -limit 64M"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if opts.mode != modeShow || opts.limit != 64<<20 || opts.size != 4*64<<20 || len(opts.clusters) != 1 || opts.rounds != 1 || opts.anchor != "none" {
		t.Errorf("options are %+v", opts)
	}
	for _, text := range []string{"show", "show -binary /bin/zramfs -limit 1M", "show -binary /bin/zramfs -rounds 2"} {
		if _, err := parse(strings.Fields(text), io.Discard); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestParseStart(t *testing.T) {
	opts, err := parse(strings.Fields("start -binary /bin/zramfs -size 64M"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if opts.mode != modeStart || opts.size != 64<<20 || opts.rounds != 200 || opts.anchor != zramName || opts.window > maxWindow {
		t.Errorf("options are %+v", opts)
	}
	for _, text := range []string{"start", "start -binary /bin/zramfs -size 1M", "start -binary /bin/zramfs -limit 64M"} {
		if _, err := parse(strings.Fields(text), io.Discard); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestParseSwap(t *testing.T) {
	opts, err := parse(strings.Fields("swap -binary /bin/zramfs"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if opts.mode != modeSwap || opts.limit != 512<<20 || opts.size != 4*512<<20 || !slices.Equal(opts.clusters, []int{0, 3, 5}) || opts.loadCPU != anyCPU {
		t.Errorf("defaults are %+v", opts)
	}
	opts, err = parse(strings.Fields("swap -binary /bin/zramfs -limit 64M -times 2 -size 128M -page-clusters 3,0 -window 9s -touches 7 -load-cpu 0"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if opts.limit != 64<<20 || opts.times != 2 || opts.size != 128<<20 || !slices.Equal(opts.clusters, []int{0, 3}) || opts.window != 9*time.Second || opts.touches != 7 || opts.loadCPU != 0 {
		t.Errorf("options are %+v", opts)
	}
}

func TestBadOptions(t *testing.T) {
	for line, says := range map[string]string{
		"":                                "-binary",
		"-binary a -device b":             "either -binary",
		"-binary a surplus":               "surplus",
		"-binary a -anchor loop":          "zram or none",
		"-binary a -rounds 0":             "at least 1",
		"-binary a -runtime 1ms":          "at least 100ms",
		"-binary a -size 1M":              "at least",
		"-device b -rounds -1":            "at least 1",
		"-device b -size 0":               "at least",
		"-device b -runtime -4s":          "at least 100ms",
		"-device b -anchor zram extra":    "extra",
		"-binary a -limit 64M":            "-limit",
		"swap":                            "-binary",
		"swap -binary a -runtime 4s":      "-runtime",
		"swap -device b":                  "-device",
		"swap -binary a -limit 1M":        "-limit",
		"swap -binary a -times 1":         "2 to 16",
		"swap -binary a -size 512M":       "less than",
		"swap -binary a -touches 0":       "-touches",
		"swap -binary a -window 61s":      "at most 1m0s",
		"swap -binary a -page-clusters 9": "0 to 8", "swap -binary a -page-clusters 3,": "0 to 8", "swap -binary a -page-clusters 3,0,3": "different",
		"swap -binary a -load-cpu 65536": "-load-cpu",
		"swap -binary a -load-cpu -2":    "-load-cpu",
		"-contestant a=-x":               "no program",
	} {
		if _, err := parse(strings.Fields(line), io.Discard); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want one that says %q", line, err, says)
		}
	}
}

func TestContestants(t *testing.T) {
	got, err := contestants("/bin/now", []string{"--log", "x"}, []string{"now=", "dense=--algorithm page:dense", "old=/bin/old --mem-limit=1G -v"})
	if err != nil {
		t.Fatal(err)
	}
	want := []contestant{
		{"now", "/bin/now", []string{"--log", "x"}},
		{"dense", "/bin/now", []string{"--log", "x", "--algorithm", "page:dense"}},
		{"old", "/bin/old", []string{"--log", "x", "--mem-limit=1G", "-v"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, text := range []string{"", "a", "=x", "zram=", "two words=", "-a=b"} {
		if got, err := contestants("/bin/now", nil, []string{text}); err == nil {
			t.Errorf("%q is accepted as %q", text, got)
		}
	}
	if got, err := contestants("/bin/now", nil, []string{"a=", "a=-x"}); err == nil {
		t.Errorf("a name used twice is accepted: %q", got)
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1G": 1 << 30, "1g": 1 << 30, "64M": 64 << 20, "2048K": 2 << 20, "1048577": 1 << 20, "0": 0,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "G", "1T", "-1M", "9999999G", "1.5G", "1 G"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q is accepted as %d", text, got)
		}
	}
}

func TestParseMemory(t *testing.T) {
	use, err := parseMemory(" 8192000 2048000 2150400 0 2150400 12 0 3 4\n")
	if err != nil {
		t.Fatal(err)
	}
	want := memoryUse{Original: 8192000, Compressed: 2048000, Used: 2150400, Overhead: 1.05, Cost: 0.2625}
	if use != want || use.ratio() != 4 {
		t.Errorf("%+v with ratio %v, want %+v with ratio 4", use, use.ratio(), want)
	}
	if use, err := parseMemory("0 0 4096"); err != nil || use.Overhead != 0 || use.Cost != 0 {
		t.Errorf("an empty device: %+v, %v", use, err)
	}
	for _, text := range []string{"", "1 2", "1 2 x"} {
		if _, err := parseMemory(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestChosenAlgorithm(t *testing.T) {
	for text, want := range map[string]string{
		"lzo-rle lzo [lz4] zstd\n": "lz4", "[adaptive] lz4": "adaptive", "zstd(level=3)\n": "zstd(level=3)",
	} {
		if got := chosen(text); got != want {
			t.Errorf("%q chooses %q, want %q", text, got, want)
		}
	}
}

// Output of fio that is no result is an error and no figure.
func TestParseFioRefuses(t *testing.T) {
	for _, text := range []string{
		"", "fio: bad option", "{", `{"jobs":[]}`,
		`{"jobs":[{"read":{"iops":0,"lat_ns":{"percentile":{"50.000000":1,"99.000000":2}}}}]}`,
		`{"jobs":[{"read":{"iops":10,"lat_ns":{}}}]}`,
	} {
		if got, err := parseFio(text); !errors.Is(err, errFioOutput) {
			t.Errorf("%q gives %+v, %v", text, got, err)
		}
	}
	if _, err := parseFio(`{"jobs":[{"error":5}]}`); err == nil || !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("an I/O error gives %v", err)
	}
}
