// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// TestSet changes a device by zramfs set.
func TestSet(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "64M", "-a", "lz4")
	if r := mustRun(t, commandTimeout, "set", dir, "mem-limit=32M", "algorithm=zstd", "level=5", "peak=0"); r.Stdout+r.Stderr != "" {
		t.Errorf("set says %q", r.Stdout+r.Stderr)
	}
	if s := statusOf(t, dir); s.MemLimit != 32<<20 || s.Algorithm != "zstd(level=5)" {
		t.Errorf("the limit is %d, the algorithm %s", s.MemLimit, s.Algorithm)
	}
	list := mustRun(t, commandTimeout, "set", dir).Stdout
	for _, want := range []string{"algorithm  zstd(level=5) ", "level      5 ", "mem-limit  32M ", "peak       "} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %q:\n%s", want, list)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{dir, "limit=1G"}, 2, "Available: algorithm, level, recomp-algorithm, mem-limit, peak"},
		{[]string{dir, "mem-limit"}, 2, "KEY=VALUE"},
		{[]string{dir, "algorithm=lzo"}, 2, "lzo"},
		{[]string{dir, "algorithm=zstd(dict=/etc/hostname)"}, 1, "its log says why"},
		{[]string{filepath.Join(dir, "nothing"), "peak=0"}, 1, "no zramfs device at"},
	} {
		r := run(t, commandTimeout, append([]string{"set"}, c.args...)...)
		if r.Code != c.code || !strings.Contains(r.Stderr, c.says) {
			t.Errorf("set %q: code %d, %q; want %d, %q in it", c.args, r.Code, r.Stderr, c.code, c.says)
		}
	}
}
