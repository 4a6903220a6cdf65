// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/pages/pagefile"
	"github.com/zramfs/zramfs/internal/require"
)

// named returns the workload with a name.
func named(t *testing.T, name string) workload {
	t.Helper()
	chosen, err := choose(workloads(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	return chosen[0]
}

// A real run on a real program gives pages that look like memory.
func TestSampleIsPlausible(t *testing.T) {
	require.Command(t, "go")
	t.Setenv("TMPDIR", t.TempDir())
	const want = 500
	memory, err := sample(t.Context(), named(t, "gobuild"), want)
	if err != nil {
		t.Fatal(err)
	}
	figures, err := measure(memory)
	if err != nil {
		t.Fatal(err)
	}
	if figures.pages != want {
		t.Errorf("%d pages, want %d", figures.pages, want)
	}
	if figures.sameFilled > 0.5 {
		t.Errorf("%.0f %% of the pages are same-filled", 100*figures.sameFilled)
	}
	if figures.lz4 < 1.5 || figures.lz4 > 8 || figures.zstd <= figures.lz4 {
		t.Errorf("LZ4 ratio %.2f and zstd ratio %.2f are not those of a program's memory", figures.lz4, figures.zstd)
	}
	if distinct := countDistinct(memory); distinct < want*6/10 {
		t.Errorf("only %d of %d pages differ from one another", distinct, want)
	}
	if !bytes.Contains(memory, []byte("runtime.")) {
		t.Error("no page holds a name of the library that is compiled")
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func countDistinct(memory []byte) int {
	seen := map[string]bool{}
	for at := 0; at < len(memory); at += pagefile.PageSize {
		seen[string(memory[at:at+pagefile.PageSize])] = true
	}
	return len(seen)
}

// All memory of a program is searched for what the environment of this process
// holds: none of it may be there, while the clean environment must be.
func TestNothingOfOursLeaks(t *testing.T) {
	require.Command(t, "awk")
	const secret = "zramfs-secret-4f1d"
	t.Setenv("ZRAMFS_TEST_SECRET", secret)
	memory, err := sample(t.Context(), named(t, "awk"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(memory, []byte(secret)) {
		t.Error("a value from our environment is in the sampled pages")
	}
	if !bytes.Contains(memory, []byte("HOME="+os.TempDir()+"/pagesample-")) {
		t.Error("the clean environment is not in the sampled pages, so the search proves nothing")
	}
}

// A program that ends early is an error that says so, with what it said last.
func TestProgramThatEnds(t *testing.T) {
	work := workload{
		name: "short", program: "sh", args: []string{"-c", "echo out of paper >&2; exit 3"},
		files: func() (map[string]string, error) { return nil, nil }, enough: 1 << 30,
	}
	_, err := sample(t.Context(), work, 10)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "out of paper") {
		t.Errorf("error %v, want the exit status and the last line", err)
	}
}

// A missing program is told apart from a failing one.
func TestMissingProgram(t *testing.T) {
	_, err := sample(t.Context(), workload{name: "none", program: "zramfs-no-such-program"}, 10)
	if !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("error %v, want exec.ErrNotFound", err)
	}
}

// An interrupt while a program is on its way to be busy kills all its processes and
// removes its directory.
func TestInterruptLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	note := filepath.Join(t.TempDir(), "group")
	work := workload{
		name: "slow", program: "sh", args: []string{"-c", "echo $$ > " + note + "; sleep 60 & sleep 60"},
		files: func() (map[string]string, error) { return nil, nil }, enough: 1 << 40,
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for range 500 {
			if text, err := os.ReadFile(note); err == nil && len(text) > 0 {
				return
			}
			time.Sleep(pollInterval)
		}
	}()
	if _, err := sample(ctx, work, 10); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	leader, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if pids, _, err := group(leader).processes(); err != nil || len(pids) != 0 {
		t.Errorf("processes %v of group %d are left (%v)", pids, leader, err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
