// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zramfs/internal/pages"
	"zramfs/internal/require"
)

// TestF015DeviceWithDictionary trains a dictionary from one device's own pages and serves another with it: the same pages take less
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
	if got := status(t, with).Algorithm; got != algorithm {
		t.Errorf("status shows %s", got)
	}
	if got := attribute(t, with, "comp_algorithm"); !strings.Contains(got, "["+algorithm+"]") {
		t.Errorf("comp_algorithm is %q", got)
	}
	before, after := comprDataSize(t, plain), comprDataSize(t, with)
	if after >= before {
		t.Errorf("the pages take %s bytes, and %s without the dictionary", after, before)
	}
}

// comprDataSize is the second field of mm_stat, filled to a fixed width so that texts compare as numbers do.
func comprDataSize(t *testing.T, dir string) string {
	t.Helper()
	field := strings.Fields(attribute(t, dir, "mm_stat"))[1]
	return strings.Repeat(" ", 20-len(field)) + field
}
