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

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
)

// TestF015DeviceWithDictionary trains a dictionary from one device's own pages and serves another
// with it: the same pages take less there, and come back.
func TestF015DeviceWithDictionary(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	all := bytes.Join(pages.Generate(pages.Text, 1024, 15), nil)
	plain := mount(t, "--size", "32M", "-a", "zstd(level=1)")
	if err := os.WriteFile(data(plain), all, 0o600); err != nil {
		t.Fatal(err)
	}
	dict := filepath.Join(tempDir(t), "dict")
	if r := mustRun(t, commandTimeout, "dict", "train", "-o", dict, plain); !strings.Contains(r.Stdout, "% fewer bytes") {
		t.Errorf("it printed %q", r.Stdout)
	}
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
	sources, dict := []string{filepath.Join(in, "text"), filepath.Join(in, "pointers")}, filepath.Join(in, "dict")
	for i, kind := range []pages.Kind{pages.Text, pages.Pointers} {
		if err := os.WriteFile(sources[i], bytes.Join(pages.Generate(kind, 1024, 15), nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, commandTimeout, "dict", "train", "--pages", sources[0], "-o", dict)
	dir := mount(t, "--size", "32M", "-a", "zstd(level=1,dict="+dict+")")
	if err := os.WriteFile(data(dir), all[:len(all)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(){
		"gone":    func() {},
		"changed": func() { mustRun(t, commandTimeout, "dict", "train", "--pages", sources[1], "-o", dict) },
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
			withoutItsFile(t, dir, sources[0], all)
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

// A device whose data file is hidden, as up hides it, has pages to train on all the same: they are
// read from its image.
func TestDictionaryOfHiddenDevice(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "32M")
	if err := os.WriteFile(data(dir), bytes.Join(pages.Generate(pages.Text, 1024, 15), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	held := openData(t, dir, 0) // a loop device holds it so
	if err := unix.Unmount(filepath.Join(dir, "dev"), unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	dict := filepath.Join(tempDir(t), "dict")
	if r := run(t, commandTimeout, "dict", "train", "-o", dict, dir); r.Code != 0 || !strings.Contains(r.Stdout, "made of 768 pages") {
		t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	keeper := statusOf(t, dir).KeeperPID
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	if !waitEnd(keeper, answerTimeout) { // the device ends with its last user
		t.Errorf("the keeper %d lives on", keeper)
	}
}
