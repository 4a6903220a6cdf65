// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/bench"
	"github.com/zramfs/zramfs/internal/memproc"
)

// codecOf runs bench codec as a program, for a moment, and reads its JSON.
func codecOf(t *testing.T, args ...string) (b bench.CodecReport) {
	t.Helper()
	benchOf(t, &b, append([]string{benchCodec}, args...))
	return b
}

func benchOf(t *testing.T, report any, args []string) {
	t.Helper()
	got := runProgram(t, append([]string{"bench", "--json", "--seconds", "0.1"}, args...)...)
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d, stderr %q", got.code, got.stderr)
	}
	decodeJSON(t, got.stdout, report)
}

// knownFile is a file of known pages.
func knownFile(t *testing.T, pages int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pages")
	if err := os.WriteFile(path, memproc.Pages(pages), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The flags reach the measurement: pages of a file, and algorithms.
func TestBenchFlags(t *testing.T) {
	b := codecOf(t, "--file", knownFile(t, 60), "--algorithm", "lz4:simd=generic,zstd(level=1)")
	if b.Pages != 40 || b.SameFilled != 20 || b.Generated || len(b.Results) != 3 || b.Results[2].Algorithm != "zstd(level=1)" {
		t.Errorf("%+v", b)
	}
}

// A disabled instruction set is not measured, and the report lists it as switched off.
func TestBenchWithoutAnInstructionSet(t *testing.T) {
	sets := codec.InstructionSets()
	if len(sets.Usable) < 2 {
		t.Skip("this machine has plain Go alone")
	}
	off := sets.Usable[0]
	t.Setenv("ZRAMFS_DISABLE", off)
	b := codecOf(t, "--algorithm", "lz4", "--file", knownFile(t, 6))
	if slices.Contains(b.Sets.Usable, off) || !slices.Contains(b.Sets.Detected, off) {
		t.Errorf("instruction sets %+v", b.Sets)
	}
	for _, r := range b.Results {
		if r.Implementation != nil && *r.Implementation == off {
			t.Errorf("%s is measured", off)
		}
	}
	if got := runProgram(t, "bench", "codec", "--seconds", "0.01"); !strings.Contains(got.stdout, "switched off by ZRAMFS_DISABLE: "+off) {
		t.Errorf("not said to be switched off: %s", got.stdout)
	}
}

func TestBenchOfAProcess(t *testing.T) {
	pid, _ := memproc.Start(t)
	b := codecOf(t, "--algorithm", "lz4", "--pid", strconv.Itoa(pid))
	// Where little processor time is left, one turn is measured: half of 256 pages at the least.
	if b.Source != fmt.Sprintf("process %d", pid) || b.SameFilled < memproc.Count/4 || b.Pages < 128 {
		t.Errorf("%+v", b)
	}
}

func TestBenchText(t *testing.T) {
	got := runProgram(t, "bench", "codec", "--seconds", "0.01", "--algorithm", "lz4,"+codec.Algorithms()[0])
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	lz4, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	selected := lz4.Variants()[0].Set + " (selected)"
	for _, want := range []string{
		"pages of generated memory, 0 pages left out", "instruction sets: " + strings.Join(codec.InstructionSets().Usable, ", "), "ALGORITHM",
		"IMPLEMENTATION", "\nmemcpy ", selected, "\n" + codec.Algorithms()[0] + " (selected) ", "Use --pid or --file",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
}

func TestBenchUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"device"}, {"codec", "codec"}, {"codec", "--seconds", "0"}, {"codec", "--seconds", "-1"}, {"codec", "--seconds", "NaN"},
		{"codec", "--seconds", "9999"}, {"codec", "--seconds", "x"}, {"codec", "--algorithm", "gzip"}, {"codec", "--pid", "0"},
		{"codec", "--pid", "1", "--generated"}, {"codec", "--file", "a", "--pid", "1"}, {"codec", "--file", ""}, {"codec", "--banana"},
	} {
		got := runProgram(t, append([]string{"bench"}, args...)...)
		if got.code != exitUsage || !strings.HasPrefix(got.stderr, "zramfs: ") || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

func TestBenchOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "zeros")
	if err := os.WriteFile(path, make([]byte, 10*pageSize), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{path: "every page is one repeated word", path + "x": "no such file"} {
		got := runProgram(t, "bench", "codec", "--file", name)
		if got.code != exitFailure || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %q", name, got, want)
		}
	}
}
