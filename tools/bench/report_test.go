// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// finished returns a benchmark that has run: every workload took on the first
// device, over three rounds, 2, 4 and 300 times what it took on the second.
func finished(deviceCount int) *benchmark {
	use := &memoryUse{Original: 4000, Compressed: 1000, Used: 1050, Overhead: 1.05, Cost: 0.2625}
	b := &benchmark{
		opts: options{rounds: 3, runtime: 4 * time.Second},
		pool: &pool{memory: make([]byte, mebibyte), path: "pages.zpg", lz4: 2.8},
		size: 64 << 20,
	}
	for _, device := range []*device{{name: "zramfs", what: "the subject"}, {name: "zram", what: "the anchor"}}[:deviceCount] {
		b.devices = append(b.devices, device)
		b.filled, b.ended = append(b.filled, use), append(b.ended, use)
	}
	for range workloads() {
		row := make([][]figure, deviceCount)
		for round, factor := range []float64{2, 4, 300} {
			base := float64(round + 1)
			row[0] = append(row[0], figure{Bytes: factor * base * 1e6, Requests: factor * base, P50: factor * base, P99: factor * base, CPU: factor * base})
			if deviceCount == 2 {
				row[1] = append(row[1], figure{Bytes: base * 1e6, Requests: base, P50: base, P99: base, CPU: base})
			}
		}
		b.figures = append(b.figures, row)
	}
	return b
}

// Ratios are the median of the rounds' ratios, not the ratio of the medians, and
// sequential rows show MB/s where random rows show requests.
func TestTextReport(t *testing.T) {
	var out bytes.Buffer
	if err := finished(2).report().writeText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"64 MiB of real pages (256 different, LZ4 ratio 2.80); median of 3 rounds of 4s",
		"zramfs: the subject", "zram: the anchor",
		"                                                     throughput to zram      p50 us to zram      p99 us to zram   CPU s/GiB to zram\n",
		"sequential read 1 MiB, libaio 1 x 4  zramfs    MB/s        8.00   4.00x        8.00   4.00x        8.00   4.00x        8.00   4.00x\n",
		"                                     zram      MB/s        2.00                2.00                2.00                2.00\n",
		"random write 4 KiB, libaio 2 x 32    zramfs    IOPS        8.00   4.00x        8.00   4.00x        8.00   4.00x        8.00   4.00x\n",
		"sequential read 1 MiB, libaio 1 x 4  zramfs    throughput         4.00x      >= 1.5      >= 2.5  stretch\n",
		"random read 4 KiB, psync, depth 1    zramfs    p50 time           4.00x        <= 5      <= 3.5  reached\n",
		"memory of zram: used/compressed 1.050, used/stored 0.263 (ratio 4.00) after the fill",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
	if rows := strings.Count(out.String(), " KiB, ") + strings.Count(out.String(), " MiB, "); rows != 2*len(workloads()) {
		t.Errorf("%d rows, want %d for figures and as many for targets:\n%s", rows, len(workloads()), out.String())
	}
}

// A device alone has no ratios, and one without mm_stat no memory line.
func TestTextReportOfOneDevice(t *testing.T) {
	b := finished(1)
	b.filled[0], b.ended[0] = nil, nil
	var out bytes.Buffer
	if err := b.report().writeText(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "to zram") || strings.Contains(out.String(), "kernel zram") || strings.Contains(out.String(), "memory of") {
		t.Errorf("the report shows what was not measured:\n%s", out.String())
	}
	if !strings.Contains(out.String(), "random read 4 KiB, psync, depth 1    zramfs    IOPS        8.00        8.00        8.00        8.00\n") {
		t.Errorf("the report lacks the device's figures:\n%s", out.String())
	}
}

// The JSON holds every round, by workload and device.
func TestJSONReport(t *testing.T) {
	var out bytes.Buffer
	if err := writeJSON(&out, finished(2).report()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Devices []struct {
			Name   string
			Memory struct {
				Overhead float64 `json:"used_per_compressed_byte"`
			} `json:"memory_after_fill"`
		}
		Workloads []struct {
			Name   string
			Rounds [][]map[string]float64
			Median []map[string]float64
			Ratio  []map[string]float64 `json:"ratio_to_zram"`
		}
		Targets []struct {
			Measure string
			Ratio   float64 `json:"ratio_to_zram"`
			Verdict string
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Workloads) != len(workloads()) || len(got.Devices) != 2 || got.Devices[1].Memory.Overhead != 1.05 {
		t.Fatalf("the JSON says:\n%s", out.String())
	}
	row := got.Workloads[1]
	if row.Rounds[0][2]["requests_per_second"] != 900 || row.Median[1]["p99_us"] != 2 || row.Ratio[0]["p50_us"] != 4 {
		t.Errorf("%s: %+v", row.Name, row)
	}
}

// A second contestant is compared with kernel zram too, which compares with nothing.
func TestReportOfThreeDevices(t *testing.T) {
	b := finished(2)
	b.devices = slices.Insert(b.devices, 1, &device{name: "other", what: "another"})
	b.filled, b.ended = append(b.filled, nil), append(b.ended, nil)
	for i := range b.figures {
		b.figures[i] = slices.Insert(b.figures[i], 1, b.figures[i][1])
	}
	var out bytes.Buffer
	if err := b.report().writeText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"                                     other     IOPS        2.00   1.00x",
		"                                     other     p99 time           1.00x       <= 10        <= 8  stretch\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

func TestTargetVerdict(t *testing.T) {
	more := target{reach: 1, stretch: 1.5}
	less := target{less: true, reach: 4.5, stretch: 3.5}
	open := target{less: true, stretch: 3.5}
	for _, test := range []struct {
		target target
		ratio  float64
		want   string
	}{
		{more, 0.99, verdictMissed}, {more, 1, verdictReached}, {more, 1.5, verdictStretch}, {more, 0, verdictNone},
		{more, math.NaN(), verdictMissed},
		{less, 4.6, verdictMissed}, {less, 4.5, verdictReached}, {less, 3.5, verdictStretch}, {less, 0, verdictNone},
		{open, 9, verdictNone}, {open, 3, verdictStretch},
	} {
		if got := test.target.verdict(test.ratio); got != test.want {
			t.Errorf("%+v at %v: %s, want %s", test.target, test.ratio, got, test.want)
		}
	}
}

// The order of the devices changes from round to round.
func TestTurns(t *testing.T) {
	if even, odd := turns(3, 2), turns(3, 3); !slices.Equal(even, []int{0, 1, 2}) || !slices.Equal(odd, []int{2, 1, 0}) {
		t.Errorf("turns %v and %v", even, odd)
	}
}

// A ratio to nothing, to less than nothing or of less than nothing is unknown, and printed so.
func TestRatioOfNothing(t *testing.T) {
	same := func(f float64) float64 { return f }
	for _, pair := range [][2]float64{{2, 0}, {2, -1e-16}, {2, 1e-16}, {2, -3}, {-2, 3}} {
		if got := ratioOf([]float64{1, pair[0]}, []float64{1, pair[1]}, same); got != 0 || times(got) != "-" {
			t.Errorf("the ratio of %v to %v is %v, printed as %s", pair[0], pair[1], got, times(got))
		}
	}
	if got := ratioOf([]float64{1, 2}, []float64{2, 4}, same); got != 0.5 || times(got) != "0.50x" {
		t.Errorf("the ratio of a half is %v, printed as %s", got, times(got))
	}
}

// A median has an interval from six rounds on.
func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
		shown  string
	}{
		{[]float64{3}, 3, ""}, {[]float64{9, 1}, 5, ""}, {[]float64{7, 1, 2}, 2, ""}, {[]float64{4, 1, 3, 2}, 2.5, ""},
		{[]float64{104, 100, 98, 100, 101, 100}, 100, " ±4%"}, {[]float64{0, 0, 0, 0, 0, 0}, 0, " ±0%"}, {[]float64{-9, 4, 4, 4, 4, 9}, 4, " ±?"},
	} {
		if got := summary(test.values); got.Center != test.want || interval(got) != test.shown {
			t.Errorf("the median of %v is %v%s, want %v%s", test.values, got.Center, interval(got), test.want, test.shown)
		}
	}
}

// Figures of a device that held something else than real pages are refused.
func TestCheckData(t *testing.T) {
	for what, test := range map[string]struct {
		filled, ended memoryUse
		refused       bool
	}{
		"real pages":            {memoryUse{Original: 2850, Compressed: 1000}, memoryUse{Original: 2800, Compressed: 1000}, false},
		"other pages":           {memoryUse{Original: 8000, Compressed: 1000}, memoryUse{Original: 8000, Compressed: 1000}, true},
		"pages that changed":    {memoryUse{Original: 2800, Compressed: 1000}, memoryUse{Original: 3100, Compressed: 1000}, true},
		"a device kept empty":   {memoryUse{}, memoryUse{}, true},
		"a device that emptied": {memoryUse{Original: 2800, Compressed: 1000}, memoryUse{}, true},
	} {
		b := finished(2)
		b.filled[0], b.ended[0] = nil, nil
		b.filled[1], b.ended[1] = &test.filled, &test.ended
		if err := b.checkData(); (err != nil) != test.refused {
			t.Errorf("%s: %v", what, err)
		}
	}
}
