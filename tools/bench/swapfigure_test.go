// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseSwapped(t *testing.T) {
	out, in, err := parseSwapped("pgpgin 5\npswpin 12\npswpout 34\nswpin_zero 9\n")
	if err != nil || out != 34 || in != 12 {
		t.Errorf("%d out, %d in, %v", out, in, err)
	}
	for _, text := range []string{"", "pswpin 1\n", "pswpin x\npswpout 1\n"} {
		if _, _, err := parseSwapped(text); !errors.Is(err, errKernelText) {
			t.Errorf("%q gives %v", text, err)
		}
	}
}

// windowPhases are a fill of a GiB in 2 s, half of it swapped out; a walk in 4 s, which swaps in
// what the fill swapped out; and 16 touches of 20 us; 8 of them
// waited for 30. zswap wrote a quarter back, and answered 12 touches.
func windowPhases() (fill, walk, touch phase) {
	const pages = gibibyte / 4096
	fill = phase{result: loadResult{Pages: pages, Took: 2 * time.Second}, cpu: cpuTime{Load: 1, Server: 0.5, Kernel: 0.25, Machine: 9}, out: pages / 2}
	walk = phase{result: loadResult{Pages: pages, Took: 4 * time.Second}, cpu: cpuTime{Load: 2, Kernel: 0.25, Machine: 9}, in: pages / 2, writtenBack: pages / 4}
	touch = phase{
		result: loadResult{Pages: 16, Missed: 8, Minor: 4, Waited: 240 * time.Microsecond, P50: 29 * time.Microsecond, P99: 70 * time.Microsecond, Touching: 320 * time.Microsecond},
		cpu:    cpuTime{Load: 0.0016}, in: 16, loads: 12, memory: 3 << 20, zswap: 2 << 20,
	}
	return fill, walk, touch
}

func TestSwapFigure(t *testing.T) {
	fill, walk, touch := windowPhases()
	got, err := newSwapFigure(fill, walk, touch, &memoryUse{Original: gibibyte / 4, Cost: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	want := swapFigure{
		Fill: gibibyte / 2e6, Walk: gibibyte / 4e6, Walked: 1, Out: 0.5, In: 0.5,
		Touch: 20, Miss: 30, MissP50: 29, MissP99: 70, Misses: 8, Major: 0.5, Minor: 0.25, None: 0.25,
		CPU: 4, Spent: cpuTime{3, 0.5, 0.5, 18}, FillCPU: fill.cpu, WalkCPU: walk.cpu, TouchCPU: 100, Stored: 0.25, Memory: 0.25,
		Hot: 0.75, WrittenBack: 0.25, TakenTouch: 3, TakenZswap: 2,
	}
	if got != want {
		t.Errorf("%+v,\nwant %+v", got, want)
	}
	touch.result.Missed = 0
	if _, err := newSwapFigure(fill, walk, touch, nil); !errors.Is(err, errNoSwapping) {
		t.Errorf("no touch waited: %v", err)
	}
	walk.in = 0
	if _, err := newSwapFigure(fill, walk, touch, nil); !errors.Is(err, errNoSwapping) {
		t.Errorf("nothing was swapped in: %v", err)
	}
}

// finishedSwap returns a benchmark that has run three rounds with two values of vm.page-cluster.
// zramfs did 2, 4 and 300 times what kernel zram does at its best, at 5 what it did at 0 but for
// half the speed of the walk and 1.5 times the time of a touch. Kernel zram does worse at 0, where
// its walk has half the speed and its touches take twice the time.
func finishedSwap() *swapBenchmark {
	b := &swapBenchmark{
		opts:     options{rounds: 3, limit: 64 << 20, times: 3, size: 256 << 20, touches: 9, workload: workZipf, clusters: []int{0, 5}},
		subjects: []subject{{name: "zramfs"}, {name: zramName}},
		what:     map[string]string{"zramfs": "the subject", zramName: "the anchor"},
		figures:  [][][]swapFigure{make([][]swapFigure, 2), make([][]swapFigure, 2)},
	}
	for round, factor := range []float64{2, 4, 300} {
		base := float64(round + 1)
		for i, of := range []struct {
			factor      float64
			walk, touch [2]float64 // by page cluster
		}{{factor, [2]float64{1, 0.5}, [2]float64{1, 1.5}}, {1, [2]float64{0.5, 1}, [2]float64{2, 1}}} {
			for c := range b.opts.clusters {
				figure := swapFigure{Fill: base, Walk: base * of.walk[c], Touch: base * of.touch[c], MissP50: base, CPU: base * (1 + of.walk[c])}
				figure.Fill, figure.Walk, figure.Touch = figure.Fill*of.factor, figure.Walk*of.factor, figure.Touch*of.factor
				figure.Out, figure.In = base, base
				b.figures[i][c] = append(b.figures[i][c], figure)
			}
		}
	}
	b.wakeUps = wakeUps{
		AsIs: []wakeUp{{wakeDelay{50, 150}, wakeDelay{4, 9}}, {wakeDelay{70, 170}, wakeDelay{4, 9}}},
		Held: []wakeUp{{wakeDelay{6, 8}, wakeDelay{4, 9}}},
	}
	return b
}

// The best is compared with the best, and every value stands below.
func TestSwapTextReport(t *testing.T) {
	var out bytes.Buffer
	if err := finishedSwap().report(reportPages{Count: 256, LZ4: 2.8}).writeText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"192 MiB of real pages (256 different, LZ4 ratio 2.80) in a limit of 64 MiB; 9 touches, zipf; median of 3 rounds\n",
		"zramfs: the subject, 256 MiB\n", "zram: the anchor, 256 MiB\n",
		"  as the machine is                             60.0           160          4.00          9.00\n",
		"  with a PM QoS request held                    6.00          8.00          4.00          9.00\n",
		"                                                  zramfs to zram           zram\n",
		"fill 3x the limit                    MB/s        8.00 @0   4.00x        2.00 @0\n",
		"walk it in order                     MB/s        8.00 @0   4.00x        2.00 @5\n",
		"touch it, mean                       us          8.00 @0   4.00x        2.00 @5\n",
		"  a miss, p50                        us          2.00 @0   1.00x        2.00 @5\n",
		"  of it zramfs                       s           0.00 @0       -        0.00 @5\n",
		"  a miss, p50                        zramfs    p50 time           1.00x        <= 3      <= 2.2  stretch\n",
		"with each vm.page-cluster (@)                  zramfs @0      zramfs @5        zram @0        zram @5\n",
		"walk it in order                     MB/s           8.00           4.00           1.00           2.00\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

func TestSwapJSONReport(t *testing.T) {
	var out bytes.Buffer
	if err := writeJSON(&out, finishedSwap().report(reportPages{})); err != nil {
		t.Fatal(err)
	}
	var got swapReport
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	walk := got.Measure[5]
	if len(got.Devices) != 2 || got.Devices[0].Rounds[0][2].Fill != 900 || walk.Median[1][1] != 2 || walk.Ratio[0] != 4 {
		t.Errorf("the JSON says:\n%s", out.String())
	}
	if !slices.Equal(walk.Best, []int{0, 1}) || !slices.Equal(got.Cluster, []int{0, 5}) || got.WakeUps.Held[0].Between.P50 != 6 {
		t.Errorf("the JSON says:\n%s", out.String())
	}
}

// Without kernel zram there is nothing to compare with, and with one value of vm.page-cluster
// nothing to choose from. A machine that refuses a request for awake CPUs is told of.
func TestSwapReportOfOneDevice(t *testing.T) {
	b := finishedSwap()
	b.subjects, b.opts.clusters, b.figures = b.subjects[:1], b.opts.clusters[:1], [][][]swapFigure{b.figures[0][:1]}
	b.wakeUps.Held, b.wakeUps.Refused = nil, "no such device"
	var out bytes.Buffer
	if err := b.report(reportPages{}).writeText(&out); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"to zram", "to reach", "with each vm.page-cluster"} {
		if strings.Contains(out.String(), word) {
			t.Errorf("the report says %q:\n%s", word, out.String())
		}
	}
	if !strings.Contains(out.String(), "  with a PM QoS request: no such device\n") {
		t.Errorf("the report keeps it back:\n%s", out.String())
	}
}
