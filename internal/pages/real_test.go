// SPDX-License-Identifier: Apache-2.0

package pages_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/pages/pagefile"
	"github.com/zramfs/zramfs/internal/require"
)

// childVariable makes TestRealChild do its work.
const childVariable = "ZRAMFS_PAGES_TEST_CHILD"

// TestRealChild asks for the real pages in a process of its own, since a process
// reads them once.
func TestRealChild(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		return
	}
	got := pages.Real(t)
	again := pages.Real(t)
	if len(got) != 3 || &got[0][0] != &again[0][0] {
		t.Fatalf("%d pages, and %d when asked again", len(got), len(again))
	}
	for i, page := range got {
		if !bytes.Equal(page, bytes.Repeat([]byte{byte(i + 1)}, pages.PageSize)) || cap(page) != pages.PageSize {
			t.Errorf("page %d has %d bytes, capacity %d, first byte %d", i, len(page), cap(page), page[0])
		}
	}
}

func realChild(t *testing.T, file, demanded string) string {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestRealChild$", "-test.v")
	child.Env = append(os.Environ(), childVariable+"=1", pagefile.Variable+"="+file, require.Variable+"="+demanded)
	out, err := child.CombinedOutput()
	if (err != nil) != bytes.Contains(out, []byte("--- FAIL")) {
		t.Fatalf("the child ended with %v:\n%s", err, out)
	}
	return string(out)
}

func TestReal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages.zpg")
	if out := realChild(t, path, ""); !strings.Contains(out, "--- SKIP") {
		t.Errorf("no file and no demand: not skipped:\n%s", out)
	}
	if out := realChild(t, path, "pages"); !strings.Contains(out, "--- FAIL") {
		t.Errorf("no file and a demand: not failed:\n%s", out)
	}

	numbered := func(number byte) []byte { return bytes.Repeat([]byte{number}, pages.PageSize) }
	programs := []pagefile.Program{
		{Name: "a", Pages: append(numbered(1), numbered(2)...)},
		{Name: "b", Pages: numbered(3)},
	}
	if err := pagefile.Save(path, programs); err != nil {
		t.Fatal(err)
	}
	if out := realChild(t, path, "pages"); !strings.Contains(out, "--- PASS") {
		t.Errorf("a good file: not passed:\n%s", out)
	}

	damage(t, path)
	if out := realChild(t, path, ""); !strings.Contains(out, "--- FAIL") || !strings.Contains(out, "checksum") {
		t.Errorf("a damaged file: not failed:\n%s", out)
	}
}

// damage flips a bit in the last page of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-100] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
