// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/reclaim"
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
		var out, said strings.Builder
		code := run(append([]string{"zramfs", "reclaim"}, strings.Fields(c.args)...), &out, &said)
		if code != c.code || !strings.Contains(said.String(), c.word) || strings.Count(said.String(), "\n") != 1 || out.Len() > 0 {
			t.Errorf("%q: exit code %d, want %d and %q: %s%s", c.args, code, c.code, c.word, out.String(), said.String())
		}
	}
}

// A group is named by its directory, or by its path below the top of the hierarchy.
func TestReclaimGroup(t *testing.T) {
	h, err := host.Local.MemoryHierarchy()
	if err != nil || h.Top == "" {
		t.Skipf("no hierarchy of memory groups: %v", err)
	}
	groups := map[string]string{"/no/such/group": h.Top + "/no/such/group"}
	if h.V2 { // where each group can be asked what it takes
		groups[h.Top] = h.Top
	}
	for path, want := range groups {
		var r reclaim.Reclaimer
		app := newApp(io.Discard, io.Discard)
		app.Command("reclaim").Action = func(c *cli.Context) error { return reclaimOptions(c, &r) }
		if err := runApp(app, []string{"zramfs", "reclaim", "--cgroup", path}); err != nil || !slices.Equal(r.Groups, []string{want}) {
			t.Errorf("%s is %q, %v; want %s", path, r.Groups, err, want)
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
	p.dry, p.last = true, map[string]string{}
	if err := p.tell(asked); err != nil {
		t.Fatal(err)
	}
	p.dry = false
	full := errors.New("full")
	p.out, p.last = failing{full}, map[string]string{}
	if told, ended := p.tell(asked), p.end(time.Minute); told != full || ended != full {
		t.Errorf("to a full output: %v, %v", told, ended)
	}
	want := "12:00:00 user.slice is asked for 10M of 1G\n12:00:12 user.slice waits, its programs wait for memory\nuser.slice gave 18M in 1m0s\n" +
		"12:00:00 user.slice would be asked for 10M of 1G\n"
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out.String(), want)
	}
}
