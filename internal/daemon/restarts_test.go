// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"os/exec"
	"testing"
	"time"
)

// TestRestarts notes more deaths than are remembered: the count is of all, the times are the last
// ones.
func TestRestarts(t *testing.T) {
	var r restarts
	if r.last() != nil {
		t.Errorf("before the first death the last one was at %v", r.last())
	}
	began := time.Unix(1000, 0)
	for i := range 2 * maxRecent {
		r.note(began.Add(time.Duration(i)*time.Second), nil)
	}
	if r.Count != 2*maxRecent || len(r.Recent) != maxRecent {
		t.Errorf("%d deaths, %d times", r.Count, len(r.Recent))
	}
	end := began.Add((2*maxRecent - 1) * time.Second)
	if got := r.last(); !got.Equal(end) {
		t.Errorf("the last was at %v, want %v", got, end)
	}
	if n := r.since(end.Add(-10 * time.Second)); n != 10 {
		t.Errorf("%d deaths in the last ten seconds", n)
	}
	text, err := json.Marshal(keeperFacts{restarts: r})
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 32<<10 {
		t.Errorf("an order with %d deaths has %d bytes: a pipe takes 64 KiB", maxRecent, len(text))
	}
}

// TestDescribeExit runs processes that end in each way.
func TestDescribeExit(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0":        "ended by itself",
		"exit 7":        "ended with exit code 7",
		"kill -KILL $$": "killed by signal 9",
	} {
		if got := describeExit(exec.Command("sh", "-c", script).Run()); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}
