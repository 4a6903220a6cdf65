// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/loopsetup"
)

// The growth of a minute is known at each interval: from the fifth second on, and from the second
// line on where lines are further apart.
func TestTopGrowth(t *testing.T) {
	for _, interval := range []time.Duration{leastInterval, time.Second, 30 * time.Second, 5 * time.Minute, longestInterval} {
		h, begin := monitor.NewHistory(trendPoints), time.Now()
		var p monitor.Point
		looks := int(max(2*time.Minute/interval, 1)) + 1
		for i := range looks {
			after := time.Duration(i) * interval
			used := uint64(after/leastInterval) << 12
			p = h.Add([]monitor.Sample{{At: begin.Add(after), Device: swapdev.Device{
				Dir: "/run/zram", Swaps: []loopsetup.Swap{{Path: "/dev/loop0", Size: 1 << 40, Used: used}}, Status: &status.Status{UptimeSeconds: 1 + after.Seconds()},
			}}})[0]
		}
		if want := 4096 / leastInterval.Seconds(); math.Abs(p.Growth-want) > 1 {
			t.Errorf("every %v: growth %g bytes a second, want %g", interval, p.Growth, want)
		}
	}
}

// wellPoint is a point of a busy swap device.
func wellPoint() monitor.Point {
	cpu, some := 0.031, 0.82
	return monitor.Point{
		Time: testNow, Seconds: 1, Dir: "/run/zram", Answer: "ok", Health: "healthy", Uptime: 10, SwapSize: 4 << 30, SwapUsed: 2900 << 20,
		Stored: 2950 << 20, Memory: 612 << 20, InZswap: 512 << 20, Zswap: 170 << 20, ZswapIn: 12345, Processes: 25 << 20, Saved: 2263 << 20, Ratio: 4.82,
		In: status.Flow{Pages: 1240, P50: 41_000, P99: 210_400}, Out: status.Flow{Pages: 310, P50: 19_000, P99: 140_000},
		ReadTime: swapdev.Split{Loop: 52_000, Device: 43_000},
		Discards: 12, CPU: &cpu, PressureSome: &some, FailedReads: 1, FailedWrites: 2, ChecksumErrors: 3, Restarts: 4,
	}
}

// The lines of figures, with headings again on a terminal alone; a figure that is not known is a
// dash.
func TestTopLines(t *testing.T) {
	const headings = "    time used_MiB used_%  mem_MiB zswap_MiB zmem_MiB  ratio saved_MiB   zin/s    in/s in_p50_us in_p99_us in_loop_us in_ours_%   out/s out_p50_us out_p99_us  free/s  cpu_% some_% errors restarts    state dir\n"
	const well = "12:04:30   2900.0   70.8    612.0     512.0    170.0   4.82    2263.0   12345    1240      41.0     210.4       52.0      82.7     310       19.0      140.0      12    3.1    0.8      6        4  healthy /run/zram\n"
	const silent = "12:04:30      0.0    0.0        -         -        -      -         -       -       -         -         -          -         -       -          -          -       -      -      -      -        -  timeout /run/zram\n"
	var out strings.Builder
	o := &batchOutput{w: &out}
	if err := o.print([]monitor.Point{wellPoint(), {Time: testNow, Dir: "/run/zram", Answer: "timeout", Health: "degraded", SwapSize: 1}}); err != nil {
		t.Fatal(err)
	}
	if want := headings + well + silent; out.String() != want {
		t.Errorf("it prints\n%swant\n%s", out.String(), want)
	}
	for _, test := range []struct {
		o    batchOutput
		want int
	}{{batchOutput{terminal: true}, 3}, {batchOutput{}, 1}} {
		out.Reset()
		test.o.w = &out
		if err := test.o.print(slices.Repeat([]monitor.Point{wellPoint()}, 2*headingEvery+1)); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), headings); n != test.want {
			t.Errorf("%+v: %d headings, want %d", test.o, n, test.want)
		}
	}
}

// Each line of top -b -J is an object with a schema.
func TestTopJSON(t *testing.T) {
	var out strings.Builder
	o := &batchOutput{w: &out, asJSON: true}
	if err := o.print([]monitor.Point{wellPoint(), wellPoint()}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines: %s", len(lines), out.String())
	}
	var got topLine
	if err := json.Unmarshal([]byte(lines[1]), &got); err != nil || got.Schema != jsonSchema || got.In.P99 != 210_400 || *got.CPU != 0.031 || !got.Time.Equal(testNow) {
		t.Errorf("%+v, %v", got, err)
	}
	if !strings.HasPrefix(lines[0], `{"schema":1,"time":"2026-11-22T12:04:30Z"`) || !strings.Contains(lines[0], `"full_in_seconds":null`) {
		t.Error(lines[0])
	}
}

// Output that cannot be written ends it.
func TestTopEndsWithItsOutput(t *testing.T) {
	full := errors.New("no space")
	if err := (&batchOutput{w: failing{full}}).print([]monitor.Point{wellPoint()}); !errors.Is(err, full) {
		t.Error(err)
	}
	if got := runProgram(t, "top", "-b", t.TempDir()); got.code != exitNotRunning || !strings.Contains(got.stderr, "no zramfs device at ") {
		t.Errorf("without a device: %+v", got)
	}
}

// failing is an output that has no room.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
