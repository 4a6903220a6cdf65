// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/telemetry/latency"
	"github.com/zramfs/zramfs/loopsetup"
)

var build = Build{Version: "1.2.3", Revision: "abc", Go: "go1.26"}

// look has three devices: one used as swap, one without a use, and one that does not answer.
func look() Look {
	const mib = 1 << 20
	status := func() *status.Status {
		return &status.Status{
			Version: "1.0", Disksize: 1024 * mib, Algorithm: "adaptive", MemLimit: 512 * mib, CPUSeconds: 7.25, ProcessMemoryBytes: 20 * mib,
			Memory: status.Memory{OrigDataSize: 400 * mib, ComprDataSize: 80 * mib, MemUsedTotal: 100 * mib, IndexBytes: 2 * mib, ReserveBytes: 4 * mib},
			Codecs: []status.Codec{{Name: "page:dense", Pages: 90000, Bytes: 80 * mib}, {Name: "same", Pages: 12400}},
			IO:     status.IO{Reads: 7, Writes: 8, Discards: 9, FailedWrites: 3},
			Operations: []status.Operation{{Op: "read", Requests: 5, Pages: 7, Bytes: 7 << 12, Errors: 1, SecondsTotal: 0.25,
				Buckets: latency.Histogram{{4608, 2}, {16384, 1}, {2 << 30, 2}}}},
			Backing:     status.Backing{Path: "/dev/sdz", Capacity: 1000, Pages: 100, Reads: 5, Writes: 110, FailedWrites: 2},
			Cold:        status.Cold{Share: 5, State: status.Waiting, AgeSeconds: 190, ReadRate: 0.001, SavedBytes: mib, SpentSeconds: 0.5},
			Scrub:       status.Scrub{State: status.Waiting, Ended: new(time.Unix(9e8, 0)), Damaged: 1, DamagedPages: []uint64{7}},
			EventsTotal: map[string]uint64{"started": 1},
			Ages:        status.Ages{Classes: []status.Age{{FromSeconds: 4, ToSeconds: 14, Pages: 2, Refaults: 1}}},
			Protections: []status.Protection{{Name: status.NameMemory, State: status.OK}, {Name: status.NameOOM, State: status.Warn}},
		}
	}
	odd := status()
	odd.Codecs = append(odd.Codecs, odd.Codecs...)
	odd.Operations = append(odd.Operations, odd.Operations...)
	odd.Protections = append(odd.Protections, odd.Protections...)
	odd.Ages.Classes = append(odd.Ages.Classes, odd.Ages.Classes...)
	swap := []loopsetup.Swap{{Path: "/dev/loop0", Size: 1023 * mib, Used: 390 * mib}}
	return Look{
		Time: time.Unix(1e9, 0), Took: 3 * time.Millisecond, Pressure: 12.5, PressureKnown: true,
		Devices: []swapdev.Device{
			{Dir: "/run/zram", Status: status(), Loops: []loopsetup.Info{{Path: "/dev/loop0", DirectIO: true}}, Swaps: swap,
				SwapUse: swapdev.SwapUse{All: 780 * mib, Zswap: host.ZswapUse{Held: 80 * mib, Pool: 20 * mib, Loads: 5, Stores: 107, WrittenBack: 2}},
				Block:   host.BlockTimes{Reads: 5, ReadTime: 1500 * time.Millisecond, Writes: 9, WriteTime: time.Second}},
			{Dir: `/mnt/"b"`, Status: status()},
			{Dir: "/mnt/hung", Err: helper.ErrNoAnswer, Swaps: swap},
			{Dir: "/run/zram", Err: errors.New("a second one of that name")},
			{Dir: "/mnt/\xff", Err: errors.New("a name that is not UTF-8")},
			{Dir: "/srv/\xff", Status: status()}, // one that answers
			{Dir: "/srv/odd", Status: odd},       // one that has things twice
		},
	}
}

func exposed(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, look(), build); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWrite(t *testing.T) {
	text := exposed(t)
	for _, line := range []string{
		`zramfs_up{device="/run/zram"} 1`,
		`zramfs_up{device="/mnt/hung"} 0`,
		`zramfs_cpu_seconds_total{device="/run/zram"} 7.25`,
		"zramfs_up{device=\"/mnt/\uFFFD\"} 0",
		"zramfs_device_info{algorithm=\"adaptive\",device=\"/srv/\uFFFD\",name=\"/srv/\uFFFD/dev/zram0\",version=\"1.0\"} 1",
		`zramfs_answer{answer="timeout",device="/mnt/hung"} 1`,
		`zramfs_swap_used_bytes{device="/mnt/hung"} 4.0894464e+08`,
		`zramfs_saved_bytes{device="/run/zram"} 2.7181056e+08`, // 390 less 100 and 20 MiB, and half of zswap's 21.6
		`zramfs_swap_zswap_bytes{device="/run/zram"} 4.194304e+07`,
		`zramfs_memory_bytes{device="/run/zram",kind="zswap"} 1.130496e+07`,
		`zramfs_zswap_pages_total{op="read"} 5`,
		`zramfs_zswap_pages_total{op="writeback"} 2`,
		`zramfs_saved_bytes{device="/mnt/\"b\""} 2.9360128e+08`,
		`zramfs_memory_bytes{device="/run/zram",kind="waste"} 1.4680064e+07`,
		`zramfs_pages{codec="page:dense",device="/run/zram"} 90000`,
		`zramfs_pages{codec="page:dense",device="/srv/odd"} 90000`,
		`zramfs_operation_pages_total{device="/run/zram",op="read"} 7`,
		`zramfs_operation_errors_total{device="/run/zram",op="read"} 1`,
		`zramfs_operation_duration_seconds_bucket{device="/run/zram",op="read",le="4.096e-06"} 0`,
		`zramfs_operation_duration_seconds_bucket{device="/run/zram",op="read",le="8.192e-06"} 2`,
		`zramfs_operation_duration_seconds_bucket{device="/run/zram",op="read",le="1.6384e-05"} 3`,
		`zramfs_operation_duration_seconds_bucket{device="/run/zram",op="read",le="1.073741824"} 3`,
		`zramfs_operation_duration_seconds_bucket{device="/run/zram",op="read",le="+Inf"} 5`,
		`zramfs_operation_duration_seconds_sum{device="/run/zram",op="read"} 0.25`,
		`zramfs_loop_operations_total{device="/run/zram",op="write"} 9`,
		`zramfs_loop_operation_seconds_total{device="/run/zram",op="read"} 1.5`,
		`zramfs_backing_size_bytes{device="/run/zram"} 4.096e+06`,
		`zramfs_backing_used_bytes{device="/run/zram"} 409600`,
		`zramfs_backing_operation_pages_total{device="/run/zram",op="write"} 110`,
		`zramfs_backing_write_errors_total{device="/run/zram"} 2`,
		`zramfs_events_total{device="/run/zram",kind="started"} 1`,
		`zramfs_errors_total{device="/run/zram",kind="write"} 3`,
		`zramfs_protection{device="/run/zram",name="oom-score"} 0`,
		`zramfs_pressure_memory_some_avg10_ratio 0.125`,
		`zramfs_build_info{goversion="go1.26",revision="abc",version="1.2.3"} 1`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	if n := strings.Count(text, `zramfs_up{`); n != 6 {
		t.Errorf("%d devices, want 6", n)
	}
}

// The checks of promtool find nothing, in the library and in the program where that is installed.
func TestNamesFollowTheConventions(t *testing.T) {
	text := exposed(t)
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%+v, %v", problems, err)
	}
	program, err := exec.LookPath("promtool")
	if err != nil {
		return
	}
	cmd := exec.CommandContext(t.Context(), program, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// Each metric of the list is exposed, with its kind, by at least one of these devices.
func TestEveryMetricIsExposed(t *testing.T) {
	text := exposed(t)
	for _, m := range Metrics {
		if !strings.Contains(text, "\n# TYPE "+m.Name+" "+string(m.Kind)+"\n") && !strings.HasPrefix(text, "# HELP "+m.Name+" ") {
			t.Errorf("%s (%s) is not exposed", m.Name, m.Kind)
		}
	}
}
