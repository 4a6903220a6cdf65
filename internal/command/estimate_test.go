// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/estimate"
	"github.com/zramfs/zramfs/internal/memproc"
)

// estimateOf runs estimate as a program and reads its JSON.
func estimateOf(t *testing.T, args ...string) estimate.Report {
	t.Helper()
	got := runProgram(t, append([]string{"estimate", "--json"}, args...)...)
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d, stderr %q", got.code, got.stderr)
	}
	var e estimate.Report
	decodeJSON(t, got.stdout, &e)
	return e
}

// A child's memory is a third same-filled, a third incompressible, the rest nearly empty. The share
// of its runtime is unknown.
func TestEstimateOfAProcess(t *testing.T) {
	pid, _ := memproc.Start(t)
	e := estimateOf(t, "--pid", strconv.Itoa(pid), "--algorithm", "lz4,raw", "--sample", "8M")
	const known = memproc.Count * pageSize
	if e.Sample.Processes != 1 || e.Sample.Pages > 2048 || e.Sample.Pages < 1024 {
		t.Errorf("%d processes, %d pages", e.Sample.Processes, e.Sample.Pages)
	}
	if e.Sample.Total < known || e.Sample.Total > 2*known {
		t.Fatalf("%d bytes are seen of a process that holds %d", e.Sample.Total, known)
	}
	lz4, raw := e.Algorithms[0], e.Algorithms[1]
	third := float64(known) / 3 / float64(e.Sample.Total)
	unknown := 1 - 3*third
	for what, share := range map[string]float64{"same-filled": e.Sample.SameFilled, "raw by lz4": lz4.Incompressible, "raw less a third": raw.Incompressible - third} {
		if share < third-0.04 || share > third+unknown+0.04 {
			t.Errorf("%.3f of the pages are %s, want %.3f and at most %.3f more", share, what, third, unknown)
		}
	}
	if !(raw.Ratio < lz4.Low && lz4.Low < lz4.Ratio && lz4.Ratio < lz4.High) || lz4.Takes+lz4.Saves != e.Sample.Total {
		t.Errorf("lz4: %+v, raw: %+v, of %d", lz4, raw, e.Sample.Total)
	}
	if e.Advice.Algorithm != "lz4" || !strings.HasSuffix(e.Advice.Command, " --algorithm lz4") {
		t.Errorf("advice: %+v", e.Advice)
	}
}

// A file sampled as a whole has no interval.
func TestEstimateOfAWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages")
	if err := os.WriteFile(path, memproc.Pages(300), 0o644); err != nil {
		t.Fatal(err)
	}
	e := estimateOf(t, "--file", path)
	if e.Sample.Processes != 0 || e.Sample.Pages != 300 || e.Sample.Total != 300*pageSize || e.Sample.SameFilled != 1.0/3 {
		t.Errorf("sample: %+v", e.Sample)
	}
	if len(e.Algorithms) < 3 || e.Algorithms[0].Algorithm != codec.Algorithms()[0] {
		t.Errorf("%d algorithms, the first %s", len(e.Algorithms), e.Algorithms[0].Algorithm)
	}
	for _, r := range e.Algorithms {
		if r.Algorithm == "raw" || r.Low != r.Ratio || r.High != r.Ratio {
			t.Errorf("%+v: want an interval without width, and not raw", r)
		}
	}
}

// All processes of the machine can be sampled while they run, this test among them.
func TestEstimateOfAll(t *testing.T) {
	memproc.Start(t)
	e := estimateOf(t, "--all", "--sample", "1M", "--algorithm", "lz4")
	if e.Sample.Processes < 2 || e.Sample.Pages < 100 || e.Sample.Pages > 256 || e.Sample.Total < memproc.Count*pageSize {
		t.Errorf("sample: %+v", e.Sample)
	}
}

func TestEstimateUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--all", "--pid", "1"}, {"--file", "x", "--all"}, {"--pid", "0"}, {"--pid", "-1"}, {"--pid", "x"}, {"--pid", ""}, {"--file", ""},
		{"--pid", "1", "2"}, {"--all", "--algorithm", "gzip"}, {"--all", "--sample", "1K"}, {"--all", "--sample", "5G"}, {"--all", "--sample", "x"},
		{"--banana"},
	} {
		got := runProgram(t, append([]string{"estimate"}, args...)...)
		if got.code != exitUsage || !strings.HasPrefix(got.stderr, "zramfs: ") || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

func TestEstimateOfNoProcess(t *testing.T) {
	pid, end := memproc.Start(t)
	end()
	got := runProgram(t, "estimate", "--pid", strconv.Itoa(pid))
	if got.code != exitFailure || !strings.Contains(got.stderr, fmt.Sprintf("there is no process %d", pid)) {
		t.Errorf("%+v", got)
	}
}
