// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// workJSON is what compact, idle and recompress print with -J.
type workJSON struct {
	Schema              int
	Compact, Recompress *struct {
		Dir           string
		Seconds       float64
		Before, After struct {
			Used       uint64 `json:"mem_used_total"`
			Compressed uint64 `json:"compr_data_size"`
		}
	}
	Idle *struct {
		Dir string
		Age float64 `json:"age_seconds"`
	}
}

// workOf runs a command with -J and returns what it says.
func workOf(t *testing.T, args ...string) (w workJSON) {
	t.Helper()
	r := mustRun(t, commandTimeout, append(args, "-J")...)
	if err := json.Unmarshal([]byte(r.Stdout), &w); err != nil || w.Schema != 1 {
		t.Fatalf("%v -J prints %s: %v", args, r.Stdout, err)
	}
	return w
}

// TestWorkCommands marks, recompresses and compacts by commands, and reads every page after each.
func TestWorkCommands(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "64M", "-a", "lz4")
	s := openShadow(t, dir)
	if err := s.churn(rand.New(rand.NewPCG(11, 6)), 0, len(s.want), 300); err != nil {
		t.Fatal(err)
	}
	intact := func(after string) {
		t.Helper()
		if err := s.checkAll(); err != nil {
			t.Errorf("after %s: %v", after, err)
		}
	}
	if w := workOf(t, "idle", dir, "--age", "2h"); w.Idle == nil || w.Idle.Dir != dir || w.Idle.Age != 7200 {
		t.Errorf("idle --age says %+v", w.Idle)
	}
	if got := idlePages(t, dir); got != 0 {
		t.Errorf("%d pages are idle for two hours", got)
	}
	if r := mustRun(t, commandTimeout, "idle", dir, "--age", "2h"); r.Stdout != dir+": pages that were not accessed for 2h0m are idle\n" {
		t.Errorf("idle --age says %q", r.Stdout)
	}
	if r := mustRun(t, commandTimeout, "idle", dir); r.Stdout != dir+": all pages are idle\n" {
		t.Errorf("idle says %q", r.Stdout)
	}
	if got := idlePages(t, dir); got == 0 {
		t.Error("no page is idle")
	}
	if r := run(t, commandTimeout, "recompress", dir); r.Code != 1 || !strings.Contains(r.Stderr, "recomp-algorithm=zstd(level=9)") {
		t.Errorf("recompress without an algorithm: code %d, %q", r.Code, r.Stderr)
	}
	mustRun(t, commandTimeout, "set", dir, "recomp-algorithm=zstd(level=9)")
	if list := mustRun(t, commandTimeout, "set", dir).Stdout; !strings.Contains(list, "zstd(level=9)") {
		t.Errorf("set lists\n%s", list)
	}
	w := workOf(t, "recompress", dir, "--type", "idle")
	if r := w.Recompress; r == nil || r.Dir != dir || r.Seconds <= 0 || r.After.Compressed >= r.Before.Compressed || r.After.Compressed != statField(t, dir, 1) {
		t.Errorf("recompress says %+v, mm_stat %d", w.Recompress, statField(t, dir, 1))
	}
	intact("recompress")
	if r := mustRun(t, commandTimeout, "recompress", dir, "--max-pages", "1"); !strings.Contains(r.Stdout, "stored pages take") {
		t.Errorf("recompress says %q", r.Stdout)
	}
	if w := workOf(t, "compact", dir); w.Compact == nil || w.Compact.After.Used > w.Compact.Before.Used || w.Compact.After.Used == 0 {
		t.Errorf("compact says %+v", w.Compact)
	}
	intact("compact")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"recompress", dir, "--type", "old"}, 2, "want idle, huge or huge_idle"},
		{[]string{"recompress", dir, "--threshold", "8K"}, 2, "less than a page"},
		{[]string{"recompress", dir, "--algorithm", "lz4"}, 1, "its log says why"},
		{[]string{"idle", dir, "--age", "1ms"}, 2, "want a second or more"},
		{[]string{"idle", dir, "--age", "old"}, 2, "--age"},
		{[]string{"compact", dir, dir}, 2, "one DIR at most"},
		{[]string{"compact", filepath.Join(dir, "nothing")}, 1, "no zramfs device at"},
	} {
		if r := run(t, commandTimeout, c.args...); r.Code != c.code || !strings.Contains(r.Stderr, c.says) {
			t.Errorf("%q: code %d, %q; want %d, %q in it", c.args, r.Code, r.Stderr, c.code, c.says)
		}
	}
}

// idlePages counts the idle pages of block_state.
func idlePages(t *testing.T, dir string) (n int) {
	t.Helper()
	for line := range strings.Lines(attribute(t, dir, "block_state")) {
		if fields := strings.Fields(line); len(fields) == 3 && strings.Contains(fields[2], "i") {
			n++
		}
	}
	return n
}
