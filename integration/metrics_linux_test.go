// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// metric returns the value of a metric of a device in an exposition.
func metric(t testing.TB, text, name, labels string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + regexp.QuoteMeta(labels) + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s%s in\n%s", name, labels, text)
	}
	value, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// The metrics of an idle device are the figures of its status, and promtool accepts them.
func TestMetrics(t *testing.T) {
	require.FUSE(t)
	require.Root(t)
	dir := mount(t, "--size", "64M")
	system(t, commandTimeout, "dd", "if="+binary(t), "of="+data(dir), "bs=1M", "count=4", "conv=notrunc,fsync", "status=none")
	text := mustRun(t, commandTimeout, "metrics").Stdout
	s := statusOf(t, dir)
	label := `device="` + dir + `"`
	for name, want := range map[string]uint64{
		"zramfs_up": 1, "zramfs_data_bytes": s.Memory.OrigDataSize, "zramfs_memory_used_bytes": s.Memory.MemUsedTotal,
		"zramfs_disk_size_bytes": 64 << 20,
	} {
		if got := metric(t, text, name, "{"+label+"}"); got != float64(want) {
			t.Errorf("%s is %v, want %d", name, got, want)
		}
	}
	if got := metric(t, text, "zramfs_operation_pages_total", "{"+label+`,op="write"}`); got != float64(s.IO.Writes) || got < 1000 {
		t.Errorf("%v pages written, status has %d", got, s.IO.Writes)
	}
	wantJSONMetric(t, dir, "zramfs_data_bytes", float64(s.Memory.OrigDataSize))
	if path, err := exec.LookPath("promtool"); err == nil {
		check := exec.Command(path, "check", "metrics")
		check.Stdin = strings.NewReader(text)
		if r := runCommand(t, commandTimeout, check); r.Code != 0 {
			t.Errorf("promtool: %s%s", r.Stdout, r.Stderr)
		}
	}
}

// wantJSONMetric wants a metric of a device in the JSON of metrics.
func wantJSONMetric(t *testing.T, dir, name string, want float64) {
	t.Helper()
	var all struct {
		Schema  int
		Metrics []struct {
			Name   string
			Labels map[string]string
			Value  float64
		}
	}
	text := mustRun(t, commandTimeout, "metrics", "-J").Stdout
	if err := json.Unmarshal([]byte(text), &all); err != nil || all.Schema != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	for _, m := range all.Metrics {
		if m.Name == name && m.Labels["device"] == dir {
			if m.Value != want {
				t.Errorf("%s is %v, want %v", name, m.Value, want)
			}
			return
		}
	}
	t.Errorf("no %s of %s in %s", name, dir, text)
}
