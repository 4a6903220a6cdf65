// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/reclaim"
)

func TestReclaimRefusals(t *testing.T) {
	cases := []struct {
		args string
		code int
		word string
	}{
		{"", exitUsage, "--cgroup PATH or --all"},
		{"--all --cgroup /", exitUsage, "--cgroup PATH or --all"},
		{"x", exitUsage, "takes no argument"},
		{"--cgroup=", exitUsage, "--cgroup is empty"},
		{"--all --pressure 1", exitUsage, "want a share"},
		{"--all --pressure 0%", exitUsage, "want a share"},
		{"--all --pressure x%", exitUsage, "want a share"},
		{"--all --swap-rate 0", exitUsage, "bytes a second"},
		{"--all --swap-rate fast", exitUsage, "bytes a second"},
	}
	if h, err := host.Local.MemoryHierarchy(); err == nil && !h.V2 {
		cases = append(cases, cases[0])
		cases[len(cases)-1].args, cases[len(cases)-1].code, cases[len(cases)-1].word = "--all", exitFailure, "not supported"
	}
	for _, c := range cases {
		var out, errors strings.Builder
		code := run(append([]string{"zramfs", "reclaim"}, strings.Fields(c.args)...), &out, &errors)
		if code != c.code || !strings.Contains(errors.String(), c.word) || strings.Count(errors.String(), "\n") != 1 || out.Len() > 0 {
			t.Errorf("%q: exit code %d, want %d and %q: %s%s", c.args, code, c.code, c.word, out.String(), errors.String())
		}
	}
}

// A group gets a line when it begins to be asked, and when it no longer is, and one at the end.
func TestReclaimPrints(t *testing.T) {
	var out strings.Builder
	p := &reclaimPrinter{out: &out, last: map[string]string{}, gave: map[string]uint64{}}
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	asked := reclaim.Round{Time: at, Group: "user.slice", MemoryBytes: 1 << 30, AskedBytes: 10 << 20, ReclaimedBytes: 9 << 20}
	waits := reclaim.Round{Time: at.Add(12 * time.Second), Group: "user.slice", MemoryBytes: 1 << 30, Reason: "its programs wait for memory"}
	for _, r := range []reclaim.Round{asked, asked, waits, waits} {
		if err := p.tell(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.end(time.Minute); err != nil {
		t.Fatal(err)
	}
	want := "12:00:00 user.slice is asked for 10M of 1G\n12:00:12 user.slice waits, its programs wait for memory\nuser.slice gave 18M in 1m0s\n"
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out.String(), want)
	}
}
