// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
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

// windowPhases are a fill of a GiB in 2 s, half of it swapped out; a walk in 4 s,
// which swaps in what the fill swapped out; and 10 touches of 30 us.
func windowPhases() (fill, walk, touch phase) {
	const pages = gibibyte / 4096
	fill = phase{result: loadResult{Pages: pages, Took: 2 * time.Second}, cpu: cpuTime{Load: 1, Server: 0.5, Kernel: 0.25, Machine: 9}, out: pages / 2}
	walk = phase{result: loadResult{Pages: pages, Took: 4 * time.Second}, cpu: cpuTime{Load: 2, Kernel: 0.25, Machine: 9}, in: pages / 2}
	touch = phase{result: loadResult{Pages: 15, Faults: 10, Waited: 300 * time.Microsecond}, cpu: cpuTime{Load: 0.001}}
	return fill, walk, touch
}

func TestSwapFigure(t *testing.T) {
	fill, walk, touch := windowPhases()
	got, err := newSwapFigure(fill, walk, touch, &memoryUse{Original: gibibyte / 4, Cost: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	want := swapFigure{
		Fill: gibibyte / 2e6, Walk: gibibyte / 4e6, Touch: 30, Faults: 10, Out: 0.5, In: 0.5,
		CPU: 4, Spent: cpuTime{3, 0.5, 0.5, 18}, FillCPU: fill.cpu, WalkCPU: walk.cpu, TouchCPU: 100, Stored: 0.25, Memory: 0.25,
	}
	if got != want {
		t.Errorf("%+v,\nwant %+v", got, want)
	}
	touch.result.Faults = 0
	if _, err := newSwapFigure(fill, walk, touch, nil); !errors.Is(err, errNoSwapping) {
		t.Errorf("no touch waited: %v", err)
	}
	walk.in = 0
	if _, err := newSwapFigure(fill, walk, touch, nil); !errors.Is(err, errNoSwapping) {
		t.Errorf("nothing was swapped in: %v", err)
	}
}

// finishedSwap returns a benchmark that has run three rounds: zramfs took 2, 4 and
// 300 times what kernel zram took, and other what kernel zram did.
func finishedSwap() *swapBenchmark {
	b := &swapBenchmark{
		opts: options{rounds: 3, limit: 64 << 20, times: 3, size: 256 << 20, touches: 9},
		subjects: []subject{
			{name: "zramfs", cluster: 5}, {name: "other", cluster: 5}, {name: zramName, cluster: 0},
		},
		what:    map[string]string{"zramfs": "the subject", "other": "another", zramName: "the anchor"},
		figures: make([][]swapFigure, 3),
	}
	for round, factor := range []float64{2, 4, 300} {
		base := float64(round + 1)
		figure := swapFigure{Fill: base, Walk: base, Touch: base, CPU: base, Out: base, In: base}
		b.figures[1], b.figures[2] = append(b.figures[1], figure), append(b.figures[2], figure)
		b.figures[0] = append(b.figures[0], swapFigure{
			Fill: factor * base, Walk: factor * base, Touch: factor * base, CPU: factor * base, Out: base, In: base,
		})
	}
	return b
}

func TestSwapTextReport(t *testing.T) {
	var out bytes.Buffer
	if err := finishedSwap().report(reportPages{Count: 256, LZ4: 2.8}).writeText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"192 MiB of real pages (256 different, LZ4 ratio 2.80) in a limit of 64 MiB; 9 touches; median of 3 rounds\n",
		"zramfs: the subject, 256 MiB, vm.page-cluster 5\n", "zram: the anchor, 256 MiB, vm.page-cluster 0\n",
		"                                             zramfs to zram     other to zram      zram\n",
		"fill 3x the limit                    MB/s      8.00   4.00x      2.00   1.00x      2.00\n",
		"                                     other     time             1.00x         -    <= 3.5  stretch\n",
		"touch it at random, mean             zramfs    time             4.00x         -    <= 3.5  -\n",
		"                                     other     CPU time         1.00x      <= 2    <= 1.5  stretch\n",
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
	if len(got.Devices) != 3 || got.Devices[0].Rounds[2].Fill != 900 || got.Measure[3].Median[2] != 2 || got.Measure[3].Ratio[0] != 4 {
		t.Errorf("the JSON says:\n%s", out.String())
	}
}

// Without kernel zram there is nothing to compare with.
func TestSwapReportOfOneDevice(t *testing.T) {
	b := finishedSwap()
	b.subjects, b.figures = b.subjects[:1], b.figures[:1]
	var out bytes.Buffer
	if err := b.report(reportPages{}).writeText(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "to zram") || strings.Contains(out.String(), "to reach") {
		t.Errorf("the report compares:\n%s", out.String())
	}
}
