// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/pages/pagefile"
	"github.com/zramfs/zramfs/internal/require"
)

// The whole run on one program: what is printed is what is in the file.
func TestRunWritesFile(t *testing.T) {
	require.Command(t, "awk")
	path := filepath.Join(t.TempDir(), "pages.zpg")
	opts, err := parse([]string{"-o", path, "-max-pages", "300", "-only", "awk"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), opts, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	programs, err := pagefile.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(programs) != 1 || programs[0].Name != "awk" || programs[0].Count() != 300 {
		t.Errorf("the file holds %d programs, the first %q with %d pages", len(programs), programs[0].Name, programs[0].Count())
	}
	for _, want := range []string{"awk         300 pages", "all         300 pages", "lz4", "zstd", path} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, out.String())
		}
	}
}

// When nothing can be sampled no file is written.
func TestRunWithoutPrograms(t *testing.T) {
	t.Setenv("PATH", "")
	path := filepath.Join(t.TempDir(), "pages.zpg")
	saved := standardDirs
	standardDirs = nil
	defer func() { standardDirs = saved }()
	var out bytes.Buffer
	if err := run(t.Context(), options{out: path, maxPages: 10}, &out); err == nil {
		t.Errorf("no error:\n%s", out.String())
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was written")
	}
	if count := strings.Count(out.String(), "left out"); count != len(workloads()) {
		t.Errorf("%d programs are reported as left out, want %d:\n%s", count, len(workloads()), out.String())
	}
}

func TestBadArguments(t *testing.T) {
	for _, args := range [][]string{{"-max-pages", "0"}, {"surplus"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	if _, err := choose(workloads(), []string{"cobol"}); err == nil || !strings.Contains(err.Error(), "python,gobuild") {
		t.Errorf("-only cobol: %v", err)
	}
}

// measure tells same-filled pages from others and counts a page that does not
// compress as a whole one.
func TestMeasure(t *testing.T) {
	memory := make([]byte, 4*pagefile.PageSize)
	copy(memory[pagefile.PageSize:], bytes.Repeat([]byte("8 bytes!"), pagefile.PageSize/8))
	copy(memory[2*pagefile.PageSize:], bytes.Repeat([]byte("nine byte"), pagefile.PageSize/9))
	state := uint32(1)
	for at := 3 * pagefile.PageSize; at < len(memory); at++ {
		state = state*1664525 + 1013904223
		memory[at] = byte(state >> 24)
	}
	got, err := measure(memory)
	if err != nil {
		t.Fatal(err)
	}
	if got.pages != 4 || got.sameFilled != 0.5 {
		t.Errorf("%d pages, %.2f same-filled, want 4 and 0.5", got.pages, got.sameFilled)
	}
	// One page shrinks to almost nothing, the other not at all.
	if got.lz4 < 1.9 || got.lz4 > 2 || got.zstd < 1.9 || got.zstd > 2 {
		t.Errorf("ratios %.3f and %.3f, want just below 2", got.lz4, got.zstd)
	}
}
