// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// TestFlagsBeforeAndAfter writes flags on both sides of DIR.
func TestFlagsBeforeAndAfter(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	for name, line := range map[string][]string{
		"before":   {"--size", "20M", "-a", "zstd(level=5)", "-m", "1G", "DIR"},
		"after":    {"DIR", "--size", "20M", "-a", "zstd(level=5)", "-m", "1G"},
		"mixed":    {"-s=20M", "DIR", "--algorithm=zstd(level=5)", "--mem-limit=1024M"},
		"with end": {"-m", "1G", "-s", "20480K", "-a", "zstd(level=5)", "--", "DIR"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(tempDir(t), "zram")
			t.Cleanup(func() { takeBack(t, dir) })
			args := append([]string{"mount"}, line...)
			args[slices.Index(args, "DIR")] = dir
			if r := mustRun(t, commandTimeout, args...); r.Stdout != data(dir)+"\n" {
				t.Errorf("it printed %q", r.Stdout)
			}
			s := statusOf(t, dir)
			if s.Disksize != 20<<20 || s.Algorithm != "zstd(level=5)" || s.MemLimit != 1<<30 {
				t.Errorf("size %d, algorithm %s, limit %d", s.Disksize, s.Algorithm, s.MemLimit)
			}
		})
	}
}

// TestMountsAtOnce starts several mounts on one directory: one wins, the others
// leave it alone.
func TestMountsAtOnce(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	const tries, rounds = 4, 5
	dir := tempDir(t)
	ctx, cancel := context.WithTimeout(t.Context(), apartTimeout)
	defer cancel()
	for range rounds {
		var all [tries]*exec.Cmd
		var says [tries]strings.Builder
		for i := range all {
			all[i] = exec.CommandContext(ctx, binary(t), "mount", "--size", "16M", dir)
			all[i].Stderr = &says[i]
			if err := all[i].Start(); err != nil {
				t.Fatal(err)
			}
		}
		won := 0
		for i, cmd := range all {
			if err := cmd.Wait(); err == nil {
				won++
			} else if cmd.ProcessState.ExitCode() != 1 || strings.Count(says[i].String(), "\n") != 1 {
				t.Errorf("%v: %s", err, says[i].String())
			}
		}
		// A keeper and its worker.
		if serving := processesOf(programBelow(root)); won != 1 || len(serving) != 2 {
			t.Errorf("%d mounts succeeded, processes %v serve", won, serving)
		}
		takeDown(t, dir)
	}
}
