// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/store"
)

// TestStatusNames pins the names in the JSON: other programs read them.
func TestStatusNames(t *testing.T) {
	text, err := json.Marshal(status.Status{Codecs: []status.Codec{{}}, Protections: []status.Protection{{}},
		Instructions: status.Instructions{Codecs: []status.Implementation{{}}}, Operations: []status.Operation{{}}, Batches: []status.Batch{{}},
		Ages: status.Ages{Classes: []status.Age{{}}}})
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"": "ages algorithm backing batches codecs cold cpu_seconds_total dir disksize events_total fuse instructions io keeper_pid last_exit last_minute last_restart latency loops mem_limit " +
			"memory name on_full opens operations pid process process_memory_bytes protections restarts restarts_recent scrub settings_lost spill stalls streams survives_crash time " +
			"uptime_seconds version worker_pid",
		"memory": "compr_data_size huge_pages huge_pages_since index_bytes mem_used_max mem_used_total orig_data_size " +
			"pages_compacted pages_stored recounted_segments reserve_bytes same_pages",
		"io": "checksum_error_times checksum_errors discards failed_read_times failed_reads failed_write_times failed_writes " +
			"notify_free reads writes",
		"ages":         "classes idle incompressible recompressed",
		"fuse":         "async_dio connection max_background max_write",
		"process":      "gc_cycles heap_bytes heap_released_bytes log_lines_dropped",
		"codecs":       "bytes name pages",
		"instructions": "codecs detected usable",
		"last_minute":  "in out seconds",
		"spill":        "daily_bytes pages reason spent_bytes state",
		"scrub":        "damaged damaged_pages ended every_seconds pages reason spent_seconds state",
		"cold":         "age_seconds joined_pages pages read_rate reason saved_bytes share_percent spent_seconds state",
		"latency":      "held_seconds holds lone_requests policy reason state wake_up_held_us wake_up_us",
		"operations":   "buckets bytes errors max_ns op p50_ns p90_ns p999_ns p99_ns pages requests seconds_total",
		"batches":      "op sizes",
		"stalls":       "requests seconds",
		"protections":  "detail essential name state",
	}
	for part, names := range want {
		object := any(tree)
		if part != "" {
			object = tree[part]
		}
		if list, ok := object.([]any); ok {
			object = list[0]
		}
		if got := keys(object); got != names {
			t.Errorf("%q has %q, want %q", part, got, names)
		}
	}
}

func keys(object any) string {
	fields, _ := object.(map[string]any)
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestCodecStatus(t *testing.T) {
	var s store.Stats
	s.Codecs[codec.Raw] = store.CodecStats{Pages: 2, Bytes: 8192}
	s.Codecs[codec.LZ4] = store.CodecStats{Pages: 3, Bytes: 3000}
	s.Codecs[29] = store.CodecStats{Pages: 5} // one of those for same-filled pages
	s.SamePages = 5
	want := []status.Codec{{Name: "raw", Pages: 2, Bytes: 8192}, {Name: "lz4", Pages: 3, Bytes: 3000}, {Name: "same", Pages: 5}}
	if got := codecStatus(s); !slices.Equal(got, want) {
		t.Errorf("codecs %v, want %v", got, want)
	}
	if got := codecStatus(store.Stats{}); got == nil || len(got) != 0 {
		t.Errorf("an empty device has %#v", got)
	}
}

// TestMemoryStatus wants every counter to arrive: each field of Stats has a value of its own.
func TestMemoryStatus(t *testing.T) {
	var s store.Stats
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		switch n := uint64(i+1) * store.PageSize; v.Field(i).Interface().(type) {
		case uint64:
			v.Field(i).SetUint(n)
		case store.ErrorCount:
			count := store.ErrorCount{Count: n, First: time.Unix(int64(n), 0), Last: time.Unix(int64(n)+1, 0)}
			v.Field(i).Set(reflect.ValueOf(count))
		}
	}
	m := memoryStatus(s)
	if m.PagesStored*store.PageSize != s.OrigDataSize || m.MemUsedTotal != s.MemUsedTotal || m.ReserveBytes != s.ReserveBytes {
		t.Errorf("memory %+v of %+v", m, s)
	}
	for _, part := range []any{m, ioStatus(s)} {
		p := reflect.ValueOf(part)
		for i := range p.NumField() {
			if name := p.Type().Field(i).Name; p.Field(i).IsZero() {
				t.Errorf("%s is not filled in", name)
			}
		}
	}
}

func TestRefusal(t *testing.T) {
	const want = "dev/zram0 is open 2 times: swapoff and detach the loop device first, or zramfs down /run/zram"
	if got := refusal("/run/zram", 2); got != want {
		t.Errorf("refusal %q, want %q", got, want)
	}
	if got := refusal("/run/zram", 1); !strings.Contains(got, "is open once:") {
		t.Errorf("refusal %q", got)
	}
}

// The status names the instruction sets of this process, plain Go last, and an implementation that
// may be used for each codec.
func TestInstructions(t *testing.T) {
	got := status.ReadInstructions()
	for _, sets := range [][]string{got.Detected, got.Usable} {
		if len(sets) == 0 || sets[len(sets)-1] != "generic" {
			t.Errorf("%q does not end with generic", sets)
		}
	}
	if len(got.Codecs) == 0 {
		t.Error("no codec has an implementation")
	}
	for _, c := range got.Codecs {
		if c.Name == "" || !slices.Contains(got.Usable, c.Set) {
			t.Errorf("%+v uses none of %q", c, got.Usable)
		}
	}
}
