// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/journal"
	"github.com/zramfs/zramfs/internal/require"
)

// traceOf returns the last n operations of a device.
func traceOf(t *testing.T, dir, n string) []journal.Operation {
	t.Helper()
	var answer struct {
		Trace struct{ Operations []journal.Operation }
	}
	text := mustRun(t, commandTimeout, "trace", dir, "-J", "-n", n).Stdout
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return answer.Trace.Operations
}

// F092: what was done to the device is in its trace, also after the worker that did it was killed.
func TestF092OperationsCanBeTraced(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M", "--algorithm", "lz4")
	fd := int(openData(t, dir, unix.O_DIRECT).Fd())
	page := make([]byte, 2*pageSize)
	for i := range page {
		page[i] = byte(i / 64)
	}
	began := time.Now()
	for _, err := range []error{
		write(fd, page[:pageSize], 7), write(fd, page, 20), write(fd, make([]byte, pageSize), 9),
		unix.Fallocate(fd, punchHole, 20*pageSize, 2*pageSize),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	newCrashing(t, dir).kill()
	mustRead(t, fd, page[:pageSize], 7*pageSize)
	ended := time.Now()
	want := []journal.Operation{
		{Op: "write", Page: 7, Pages: 1, Codec: "lz4"}, {Op: "write", Page: 20, Pages: 2, Codec: "lz4"},
		{Op: "write", Page: 9, Pages: 1, Codec: "same"}, {Op: "discard", Page: 20, Pages: 2}, {Op: "read", Page: 7, Pages: 1, Codec: "lz4"},
	}
	got := traceOf(t, dir, "5")
	stored := map[uint64]uint32{}
	for i := range got {
		o := &got[i]
		if o.Time.Before(began) || o.Time.After(ended) || o.Nanoseconds <= 0 || o.Nanoseconds > ended.Sub(began).Nanoseconds() {
			t.Errorf("%+v was not between %v and %v", *o, began, ended)
		}
		if (o.Codec == "lz4") != (o.Stored > 0 && o.Stored < 2*pageSize) || stored[o.Page] != 0 && o.Codec == "lz4" && stored[o.Page] != o.Stored {
			t.Errorf("%+v is stored in %d bytes", *o, stored[o.Page])
		}
		stored[o.Page] = o.Stored
		o.Time, o.Nanoseconds, o.Stored, o.Thread = time.Time{}, 0, 0, 0
	}
	if !slices.Equal(got, want) {
		t.Errorf("the trace has\n%+v, want\n%+v", got, want)
	}
	wantChrome(t, dir)
}

// write writes whole pages.
func write(fd int, pages []byte, first int64) error {
	_, err := unix.Pwrite(fd, pages, first*pageSize)
	return err
}

// wantChrome wants each of a device's five operations in the file that Perfetto opens.
func wantChrome(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace.json")
	all := []string{"write", "write", "write", "discard", "read"}
	for flags, want := range map[string][]string{"": all, "--lines=2": all[3:]} {
		mustRun(t, commandTimeout, append([]string{"trace", dir, "--perfetto", file}, strings.Fields(flags)...)...)
		if names := chromeNames(t, file); !slices.Equal(names, want) {
			t.Errorf("%s: the file has %v, want %v", flags, names, want)
		}
	}
}

// chromeNames are the operations of a file.
func chromeNames(t *testing.T, file string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Name, Ph string
			Dur      float64
		}
	}
	if err := json.Unmarshal(text, &trace); err != nil {
		t.Fatal(err)
	}
	for _, e := range trace.TraceEvents {
		if e.Ph == "X" && e.Dur > 0 {
			names = append(names, e.Name)
		}
	}
	return names
}

// TestEvents: what happens to a device is told, while it happens and afterwards.
func TestEvents(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	c := newCrashing(t, dir)
	c.kill()
	s := c.settled()
	mustRun(t, commandTimeout, "upgrade", dir)
	run(t, commandTimeout, "upgrade", "--binary", "/bin/true", dir)
	var answer struct {
		Events struct {
			Totals map[string]uint64
			Events []journal.Event
		}
	}
	text := mustRun(t, commandTimeout, "events", dir, "-J").Stdout
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var kinds []string
	for i, e := range answer.Events.Events {
		if e.Kind != "unprotected" {
			kinds = append(kinds, e.Kind)
		}
		if e.Number != uint64(i) || time.Since(e.Time) > time.Minute || e.PID != c.keeper {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	if want := []string{"started", "worker_died", "recovered", "upgraded", "upgrade_failed"}; !slices.Equal(kinds, want) {
		t.Errorf("the events are %v, want %v", kinds, want)
	}
	if totals := statusOf(t, dir).EventsTotal; totals["worker_died"] != 1 || totals["upgraded"] != 1 || answer.Events.Totals["worker_died"] != 1 {
		t.Errorf("the status counts %v, events %v", totals, answer.Events.Totals)
	}
	lines := mustRun(t, commandTimeout, "events", dir).Stdout
	if !strings.Contains(lines, "killed by signal 9") || strings.Count(lines, "\n") != len(answer.Events.Events) || s.LastExit != "killed by signal 9" {
		t.Errorf("events prints\n%s", lines)
	}
	if r := run(t, commandTimeout, "events", dir, "--since", "yesterday"); r.Code != 2 {
		t.Errorf("a wrong age: exit code %d", r.Code)
	}
}

// TestTraceFollows: operations appear while the command runs, and it ends with the device.
func TestTraceFollows(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	done := make(chan result, 1)
	go func() { done <- run(t, commandTimeout, "trace", dir, "--follow", "-J") }()
	f := openData(t, dir, unix.O_DIRECT)
	for n := range int64(5) {
		if err := write(int(f.Fd()), make([]byte, pageSize), n); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	takeDown(t, dir)
	r := <-done
	if r.Code != 0 || strings.Count(r.Stdout, `{"schema":1,`) != 5 || strings.Count(r.Stdout, "\n") != 5 {
		t.Errorf("exit code %d, %s, it prints\n%s", r.Code, r.Stderr, r.Stdout)
	}
}
