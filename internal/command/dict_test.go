// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/dictionary"
	"github.com/zramfs/zramfs/internal/pages"
)

// pageFile writes pages to a file and returns its path.
func pageFile(t *testing.T, all [][]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pages")
	if err := os.WriteFile(path, bytes.Join(all, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDictTrain wants a dictionary that mount accepts, and its gain printed.
func TestDictTrain(t *testing.T) {
	// Zero pages between the others must not reduce the sample.
	from := pageFile(t, append(pages.Generate(pages.Text, 400, 1), slices.Repeat([][]byte{make([]byte, pageSize)}, 1000)...))
	out := filepath.Join(t.TempDir(), "dict")
	got := runProgram(t, "dict", "train", "-o", out, "--pages", from, "--size", "8K")
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	for _, word := range []string{out, "made of 304 pages", "96 other pages", "% fewer bytes", " us a page with it, ", " without; decompress ", fmt.Sprintf("zstd(level=1,dict=%s)", out)} {
		if !strings.Contains(got.stdout, word) {
			t.Errorf("%q does not say %q", got.stdout, word)
		}
	}
	wantDictJSON(t, from)
	info, err := os.Stat(out)
	if err != nil || info.Size() > 8<<10 {
		t.Fatalf("%v, %v", info, err)
	}
	cfg, err := parseMount(t, []string{"mount", "-a", "zstd(dict=" + out + ")", "/nowhere"})
	if err != nil || cfg.Algorithm.String() != "zstd(dict="+out+")" {
		t.Fatalf("mount reads %s, %v", cfg.Algorithm, err)
	}
	if _, err := cfg.Algorithm.NewCompressor(); err != nil {
		t.Error(err)
	}
	// An existing dictionary is not overwritten.
	before, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got = runProgram(t, "dict", "train", "-o", out, "--pages", from, "--size", "4K")
	after, err := os.ReadFile(out)
	if got.code != exitFailure || !strings.Contains(got.stderr, "exists already") || err != nil || !bytes.Equal(before, after) {
		t.Errorf("%+v, %v", got, err)
	}
}

// wantDictJSON trains again and wants the report as JSON.
func wantDictJSON(t *testing.T, from string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "dict")
	got := runProgram(t, "dict", "train", "-J", "-o", out, "--pages", from, "--size", "8K")
	var r struct {
		Schema int               `json:"schema"`
		Dict   dictionary.Report `json:"dict"`
	}
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.code != exitOK {
		t.Fatalf("%+v: %v", got, err)
	}
	info, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	d := r.Dict
	if r.Schema != jsonSchema || d.File != out || d.Algorithm != "zstd(level=1,dict="+out+")" || d.Size != int(info.Size()) || d.Pages != 304 || d.Measured != 96 {
		t.Errorf("%+v", r)
	}
	if d.With.Bytes >= d.Without.Bytes || d.With.Ratio <= d.Without.Ratio || d.With.Compress <= 0 || d.Without.Decompress <= 0 {
		t.Errorf("%+v", d)
	}
}

// TestDictRelative wants a name relative to the working directory of the command.
func TestDictRelative(t *testing.T) {
	all := pages.Generate(pages.Text, 200, 1)
	data, err := codec.TrainDictionary(all, 1, codec.MinDictionary)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "d"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	a, err := parseAlgorithm("zstd(level=1,dict=d)")
	if err != nil || a.DictionaryFile() != filepath.Join(dir, "d") {
		t.Errorf("%s, %v", a, err)
	}
}

// TestDictRefuses wants one line for each impossible request, and no file.
func TestDictRefuses(t *testing.T) {
	out := filepath.Join(t.TempDir(), "dict")
	random, few := pageFile(t, pages.Generate(pages.Random, 500, 1)), pageFile(t, pages.Generate(pages.Text, 20, 1))
	zero := pageFile(t, slices.Repeat([][]byte{make([]byte, pageSize)}, 500))
	empty := pageFile(t, nil)
	wantRefusal(t, out, exitUsage, []string{"dict"}, "zramfs dict train")
	wantRefusal(t, out, exitUsage, []string{"dict", "try"}, "zramfs dict train")
	wantRefusal(t, out, exitUsage, []string{"dict", "train", "--pages", few}, "--output")
	wantRefusal(t, out, exitUsage, []string{"dict", "train", "-o", out}, "name one DIR")
	wantRefusal(t, out, exitUsage, []string{"dict", "train", "-o", out, "--pages", few, "/run/zram"}, "not more")
	wantRefusal(t, out, exitUsage, []string{"dict", "train", "-o", out, "a", "b"}, "not more")
	wantRefusal(t, out, exitUsage, []string{"dict", "train", "-o", out, "--pages", few, "-l", "20"}, "1 to 19")
	wantRefusal(t, out, exitUsage, []string{"dict", "train", "-o", out, "--pages", few, "-s", "1M"}, "112K")
	wantRefusal(t, out, exitUsage, []string{"dict", "train", "-o", out, "--pages", few, "-s", "0"}, "4K")
	wantRefusal(t, out, exitFailure, []string{"dict", "train", "-o", out, out + "-none"}, "no zramfs device at ")
	wantRefusal(t, out, exitFailure, []string{"dict", "train", "-o", out, "--pages", out + "-none"}, "no such file")
	for _, from := range []string{few, zero, empty} {
		wantRefusal(t, out, exitFailure, []string{"dict", "train", "-o", out, "--pages", from}, "usable pages; training needs 64")
	}
	wantRefusal(t, out, exitFailure, []string{"dict", "train", "-o", out, "--pages", random}, random)
}

// TestMountRefusesDictionaries wants each file that is no dictionary refused before a device is
// made.
func TestMountRefusesDictionaries(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "zram")
	write := func(name string, data []byte) string {
		path := filepath.Join(base, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for file, word := range map[string]string{
		filepath.Join(base, "none"): "no such file",
		base:                        "no regular file",
		write("empty", nil):         "bad dictionary",
		write("noise", pages.Generate(pages.Random, 1, 1)[0]): "not in the format of zstd --train",
		write("large", make([]byte, codec.MaxDictionary+1)):   "has more than 114688 bytes",
		"/dev/zero":   "no regular file",
		base + "/a b": "spaces",
	} {
		for _, command := range []string{"mount", "up"} {
			wantRefusal(t, dir, exitUsage, []string{command, dir, "-a", "zstd(level=1,dict=" + file + ")"}, word)
		}
	}
}
