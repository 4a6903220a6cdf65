// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
)

// writeDictionary writes a dictionary of generated pages to a file.
func writeDictionary(t *testing.T, file string, kind pages.Kind) {
	t.Helper()
	dict, err := codec.TrainDictionary(pages.Generate(kind, 1024, 15), 1, 16<<10)
	if err == nil {
		err = os.WriteFile(file, dict, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestF015DeviceWithDictionary serves a device with a dictionary made of its pages: they take less
// there, and come back.
func TestF015DeviceWithDictionary(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	all := bytes.Join(pages.Generate(pages.Text, 1024, 15), nil)
	plain := mount(t, "--size", "32M", "-a", "zstd(level=1)")
	if err := os.WriteFile(data(plain), all, 0o600); err != nil {
		t.Fatal(err)
	}
	dict := filepath.Join(tempDir(t), "dict")
	writeDictionary(t, dict, pages.Text)
	algorithm := "zstd(level=1,dict=" + dict + ")"
	with := mount(t, "--size", "32M", "-a", algorithm)
	if err := os.WriteFile(data(with), all, 0o600); err != nil {
		t.Fatal(err)
	}
	// The device holds what it has read: the file may go.
	if err := os.Remove(dict); err != nil {
		t.Fatal(err)
	}
	back, err := os.ReadFile(data(with))
	if err != nil || !bytes.Equal(back[:len(all)], all) {
		t.Fatalf("the pages came back different, or %v", err)
	}
	if got := statusOf(t, with).Algorithm; got != algorithm {
		t.Errorf("status shows %s", got)
	}
	if got := attribute(t, with, "comp_algorithm"); !strings.Contains(got, "["+algorithm+"]") {
		t.Errorf("comp_algorithm is %q", got)
	}
	before, after := comprDataSize(t, plain), comprDataSize(t, with)
	if after >= before {
		t.Errorf("the pages take %s bytes, and %s without the dictionary", after, before)
	}
	replaceWorkers(t, with)
}

// TestF015DictionaryMayChange takes a device's dictionary away, and puts another one in its place:
// workers that come after that, verify, export and import go on with what the device has.
func TestF015DictionaryMayChange(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	all := bytes.Join(pages.Generate(pages.Text, 1024, 15), nil)
	in := tempDir(t)
	text, dict := filepath.Join(in, "text"), filepath.Join(in, "dict")
	if err := os.WriteFile(text, all, 0o600); err != nil {
		t.Fatal(err)
	}
	writeDictionary(t, dict, pages.Text)
	dir := mount(t, "--size", "32M", "-a", "zstd(level=1,dict="+dict+")")
	if err := os.WriteFile(data(dir), all[:len(all)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(){
		"gone":    func() {},
		"changed": func() { writeDictionary(t, dict, pages.Pointers) },
		"nonsense": func() {
			if err := os.WriteFile(dict, []byte("no dictionary"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.RemoveAll(dict); err != nil {
				t.Fatal(err)
			}
			change()
			withoutItsFile(t, dir, text, all)
		})
	}
}

// withoutItsFile has a device whose dictionary's file is of no use replace workers, and be
// verified, exported and imported to: file is what it holds then.
func withoutItsFile(t *testing.T, dir, file string, want []byte) {
	t.Helper()
	was := statusOf(t, dir)
	if err := unix.Kill(was.WorkerPID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if now := statusOf(t, dir); now.WorkerPID == was.WorkerPID || now.Restarts != was.Restarts+1 {
		t.Errorf("it was %+v, and is %+v", was, now)
	}
	mustRun(t, commandTimeout, "upgrade", dir)
	if v := scrub(t, dir).Verify; v.Wrong != 0 || v.Objects < 500 {
		t.Errorf("verify says %+v", v)
	}
	mustRun(t, commandTimeout, "import", file, dir)
	copied := filepath.Join(tempDir(t), "pages")
	mustRun(t, commandTimeout, "export", "--range", fmt.Sprintf("0:%d", len(want)/pageSize), dir, copied)
	got, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	if err := difference(got, want, 0); err != nil {
		t.Errorf("exported: %v", err)
	}
	if got, err = readRange(dir, 0, len(want)); err != nil {
		t.Fatal(err)
	}
	if err := difference(got, want, 0); err != nil {
		t.Errorf("read: %v", err)
	}
}

// comprDataSize is the second field of mm_stat, filled to a fixed width so that texts compare as
// numbers do.
func comprDataSize(t *testing.T, dir string) string {
	t.Helper()
	field := strings.Fields(attribute(t, dir, "mm_stat"))[1]
	return strings.Repeat(" ", 20-len(field)) + field
}
