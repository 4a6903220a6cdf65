// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/require"
)

// TestNamesake has two devices on the same directory, one in use and in another mount namespace,
// like one in a container: an import goes to the visible one alone.
func TestNamesake(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	dir := mount(t, "--size", "16M")
	hidden := statusOf(t, dir)
	f := openData(t, dir, 0)
	mine, theirs := bytes.Repeat([]byte("mine"), pageSize/4), bytes.Repeat([]byte("else"), pageSize/4)
	if _, err := f.WriteAt(mine, 0); err != nil {
		t.Fatal(err)
	}
	for _, point := range []string{filepath.Dir(data(dir)), dir} {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, commandTimeout, "mount", "--size", "16M", dir)
	file, again := filepath.Join(tempDir(t), "pages"), filepath.Join(tempDir(t), "again")
	if err := os.WriteFile(file, theirs, 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, commandTimeout, "import", file, dir)
	got := make([]byte, pageSize)
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, mine) {
		t.Errorf("the page of the hidden device is %q, %v, want %q", got[:4], err, mine[:4])
	}
	if got, err := readRange(dir, 0, pageSize); err != nil || !bytes.Equal(got, theirs) {
		t.Errorf("the page that was imported is %q, %v, want %q", got[:4], err, theirs[:4])
	}
	r := run(t, commandTimeout, "export", "--range", "0:1", dir, again)
	if got, err := os.ReadFile(again); r.Code == 0 && !bytes.Equal(got, theirs) { // a late end of the hidden one is an error
		t.Errorf("the page that was exported is %q, %v, want %q", got, err, theirs[:4])
	}
	said := mustRun(t, commandTimeout, "umount", "-J", dir).Stdout
	if want := fmt.Sprintf("{\n   \"schema\": 1,\n   \"umount\": {\n      \"dir\": %q,\n      \"warnings\": []\n   }\n}\n", dir); said != want {
		t.Errorf("umount says %s, want %s", said, want)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if !waitEnd(hidden.KeeperPID, answerTimeout) {
		t.Errorf("the keeper %d lives on", hidden.KeeperPID)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestImportUnderEyes opens the data file once an import has been accepted and before its pages
// come, as losetup does after an import: from then on nothing is imported.
func TestImportUnderEyes(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	dir := mount(t, "--size", "16M")
	i, err := control.OpenImport(dir, statusOf(t, dir).Fuse.Connection, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := openData(t, dir, 0)
	mine := bytes.Repeat([]byte("mine"), pageSize/4)
	if _, err := f.WriteAt(mine, 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(i.Word(0, 7), i.Flush()); err == nil {
		t.Error("a page was imported")
	}
	got := make([]byte, pageSize)
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, mine) {
		t.Errorf("the page is %q, %v, want %q", got[:4], err, mine[:4])
	}
	if err := errors.Join(f.Close(), i.Close()); err != nil {
		t.Error(err)
	}
}
