// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zramfs/store"
)

func TestParseRange(t *testing.T) {
	for text, want := range map[string][2]uint64{"": {}, "0:1": {0, 1}, "5:10": {5, 10}, "0:18446744073709551615": {0, 1<<64 - 1}} {
		if first, count, err := parseRange(text); err != nil || first != want[0] || count != want[1] {
			t.Errorf("%q: %d, %d, %v", text, first, count, err)
		}
	}
	for _, text := range []string{"5", ":", "5:", ":5", "5:0", "-1:5", "1:2:3", "a:b", "1.5:2", "0:18446744073709551616"} {
		_, _, err := parseRange(text)
		if code, _ := describe(err); code != exitUsage {
			t.Errorf("%q: %v, want a usage error", text, err)
		}
	}
}

func TestVerifyReport(t *testing.T) {
	w := &imageWindow{Window: store.NewWindow(200), objects: 3000}
	w.First = 1000
	for i := range 100 {
		w.Kind[i] = store.PageCorrupt
	}
	w.Kind[100], w.Kind[101], w.Kind[102] = store.PageSame, store.PageObject, store.PageObject
	r := verifyReport{Dir: "/x", WrongPages: []uint64{}}
	if n := r.add(w); n != 103 {
		t.Errorf("%d pages are stored", n)
	}
	r.rate(2 * time.Second)
	if r.Pages != 103 || r.Same != 1 || r.Objects != 2 || r.Wrong != 100 || len(r.WrongPages) != maxListed || r.WrongPages[1] != 1001 || r.PagesPerSecond != 1 {
		t.Errorf("%+v", r)
	}
	var out strings.Builder
	if err := r.print(&out, false); err != nil || !strings.Contains(out.String(), "100 wrong: 1000 1001 ") || !strings.Contains(out.String(), "1063 and 36 more\n") {
		t.Errorf("%q, %v", out.String(), err)
	}
	out.Reset()
	var back map[string]verifyReport
	if err := r.print(&out, true); err != nil || json.Unmarshal([]byte(out.String()), &back) != nil || back["verify"].Wrong != 100 {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// Pages are found wrong in any order; the first ones by number are listed.
func TestVerifyListsTheFirst(t *testing.T) {
	r := verifyReport{WrongPages: []uint64{}}
	var want []uint64
	for _, i := range rand.New(rand.NewPCG(6, 6)).Perm(300) {
		r.list(uint64(i * 3))
	}
	for i := range maxListed {
		want = append(want, uint64(i*3))
	}
	if !slices.Equal(r.WrongPages, want) {
		t.Errorf("%d", r.WrongPages)
	}
}

func TestFillPage(t *testing.T) {
	page := make([]byte, pageSize)
	fillPage(page, 0x0807060504030201)
	for i, b := range page {
		if int(b) != i%8+1 {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
}

// A file that is not finished leaves nothing, and one that is has its name; nothing is replaced unless that is wanted.
func TestWholeFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "pages")
	write := func(force, finish bool, text string) error {
		f, err := newWholeFile(name, force)
		if err != nil {
			return err
		}
		if _, err := f.WriteAt([]byte(text), 0); err != nil {
			t.Fatal(err)
		}
		if finish {
			err = f.finish(int64(len(text)) + 4096)
		}
		return errors.Join(err, f.close())
	}
	holds := func(want ...string) {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		hidden, herr := filepath.Glob(filepath.Join(dir, ".*"))
		if err != nil || herr != nil || len(names)+len(hidden) != min(len(want), 1) {
			t.Errorf("there are %q and %q", names, hidden)
		}
		text, err := os.ReadFile(name)
		if len(want) == 1 && (err != nil || !strings.HasPrefix(string(text), want[0]+"\x00") || len(text) != len(want[0])+4096) {
			t.Errorf("it holds %d bytes, %v", len(text), err)
		}
	}
	if err := write(false, false, "one"); err != nil {
		t.Error(err)
	}
	holds()
	if err := write(false, true, "two"); err != nil {
		t.Error(err)
	}
	holds("two")
	if err := write(false, true, "three"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want ErrExist", err)
	}
	if err := write(true, false, "four"); err != nil {
		t.Error(err)
	}
	holds("two")
	if err := write(true, true, "five"); err != nil {
		t.Error(err)
	}
	holds("five")
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Who was faster with the name keeps it; what is no regular file is never replaced.
func TestWholeFileReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "pages")
	f, err := newWholeFile(name, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("faster"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.finish(0); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want ErrExist", err)
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if text, rerr := os.ReadFile(name); err != nil || rerr != nil || string(text) != "faster" || len(entries) != 1 {
		t.Errorf("%q, %v, %v, %v", text, entries, err, rerr)
	}
	if _, err := newWholeFile(dir, true); !errors.Is(err, fs.ErrExist) {
		t.Errorf("directory: %v, want ErrExist", err)
	}
}

func TestExportUsage(t *testing.T) {
	for _, args := range [][]string{
		{"export"}, {"export", "/x"}, {"export", "/x", ""}, {"export", "/x", "y", "z"}, {"export", "--range", "1", "/x", "y"}, {"verify", "/x", "/y"},
		{"verify", "--gpu", "require", "/x"}, {"export", "--gpu", "never", "/x", "y"}, {"import", "--gpu-batch", "0", "/x", "y"}, {"bench", "bulk", "--gpu-device", "-1"},
	} {
		var out strings.Builder
		if code := run(append([]string{"zramfs"}, args...), &out, &out); code != exitUsage {
			t.Errorf("%q: exit code %d: %s", args, code, out.String())
		}
	}
}
