// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/store"
)

var testTime = time.Unix(1_800_000_000, 1_234_567)

// traced is an area with a write, a read that failed, a discard and a flush, in two slots.
func traced(t *testing.T) *telemetry.Area {
	t.Helper()
	a, err := telemetry.Format(make([]byte, telemetry.Size(2)), 2)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range []telemetry.Request{
		{Op: telemetry.Write, Took: 12_345, Page: 7, Pages: 1, Bytes: 4096, Stored: telemetry.Stored{Codec: uint8(codec.LZ4), Bytes: 1034}},
		{Op: telemetry.Read, Took: 2_000_000, Page: 900_000, Pages: 16, Bytes: 65536, Errno: syscall.EIO, Stored: telemetry.Stored{Codec: uint8(store.MetNothing)}},
		{Op: telemetry.Discard, Took: 900, Page: 3, Pages: 70_000, Bytes: 70_000 * 4096, Stored: telemetry.Stored{Codec: uint8(store.MetNothing)}},
		{Op: telemetry.Write, Took: 9_000, Page: 8, Pages: 2, Bytes: 8192, Stored: telemetry.Stored{Codec: uint8(store.MetMixed), Bytes: 5000}},
		{Op: telemetry.Flush, Took: 500, Stored: telemetry.Stored{Codec: uint8(store.MetNothing)}},
	} {
		r.Began = testTime.Add(time.Duration(i) * time.Millisecond)
		a.Slot(i % 2).Note(&r)
	}
	return a
}

func TestLines(t *testing.T) {
	all, lost := Operations(traced(t), &telemetry.Cursor{}, 0)
	if len(all) != 5 || lost != 0 {
		t.Fatalf("%d operations, %d lost", len(all), lost)
	}
	at := testTime.Local()
	want := []string{
		"  THREAD  OP             PAGE  PAGES  CODEC         STORED     TOOK/us  ERROR\n",
		"       0  write             7      1  lz4             1034        12.3\n",
		"       1  read         900000     16                            2000.0  input/output error\n",
		"       0  discard           3  70000                               0.9\n",
		"       1  write             8      2  mixed           5000         9.0\n",
		"       0  flush             0      0                               0.5\n",
	}
	for i, line := range append([]string{Heading()}, lines(all)...) {
		begins := "RECEIVED       "
		if i > 0 {
			begins = at.Add(time.Duration(i-1) * time.Millisecond).Format("15:04:05.000000")
		}
		if line != begins+want[i] {
			t.Errorf("line %d is\n%q, want\n%q", i, line, begins+want[i])
		}
	}
	if last, _ := Operations(traced(t), &telemetry.Cursor{}, 2); len(last) != 2 || last[1].Op != "flush" {
		t.Errorf("the last two are %+v", last)
	}
}

func lines(all []Operation) (text []string) {
	for _, o := range all {
		text = append(text, o.Line())
	}
	return text
}

// TestChrome: the trace is what the format asks for, and each thread has its track.
func TestChrome(t *testing.T) {
	all, _ := Operations(traced(t), &telemetry.Cursor{}, 0)
	var out strings.Builder
	if err := WriteChrome(&out, "/run/zram", all); err != nil {
		t.Fatal(err)
	}
	var trace struct {
		Events []map[string]any `json:"traceEvents"`
	}
	if err := json.Unmarshal([]byte(out.String()), &trace); err != nil {
		t.Fatal(err)
	}
	names, complete := map[string]bool{}, []map[string]any{}
	for _, e := range trace.Events {
		if e["ph"] == "M" {
			names[e["args"].(map[string]any)["name"].(string)] = true
		} else {
			complete = append(complete, e)
		}
	}
	if !names["zramfs /run/zram"] || !names["worker thread 0"] || !names["worker thread 1"] || len(names) != 3 {
		t.Errorf("tracks %v", names)
	}
	if len(complete) != len(all) {
		t.Fatalf("%d events of %d operations", len(complete), len(all))
	}
	read := complete[1]
	args := read["args"].(map[string]any)
	if read["name"] != "read" || read["ph"] != "X" || read["dur"] != 2000.0 || read["tid"] != 2.0 || args["page"] != 900_000.0 || args["error"] != "input/output error" {
		t.Errorf("the read became %v", read)
	}
	if began := read["ts"].(float64); began < 1_800_000_000_002_234 || began > 1_800_000_000_002_235 {
		t.Errorf("the read began at %f us", began)
	}
}

func TestEvents(t *testing.T) {
	a := traced(t)
	a.NoteEvent(testTime, telemetry.WorkerDied, 77, "worker 77: killed by signal 9")
	a.NoteEvent(testTime.Add(time.Hour), telemetry.Limit, 78, "80 % of the memory limit are in use")
	all, next := Events(a, 0, time.Time{})
	if len(all) != 2 || next != 2 {
		t.Fatalf("%d events, next %d", len(all), next)
	}
	want := testTime.Local().Format("2006-01-02 15:04:05.000") + "  worker_died     worker 77: killed by signal 9\n"
	if got := all[0].Line(); got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	if all, _ = Events(a, 0, testTime.Add(time.Minute)); len(all) != 1 || all[0].Kind != "memory_limit" {
		t.Errorf("since a minute later: %+v", all)
	}
	if all, _ = Events(a, next, time.Time{}); len(all) != 0 {
		t.Errorf("after the last: %+v", all)
	}
}
