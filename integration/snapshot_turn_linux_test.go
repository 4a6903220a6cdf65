// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
)

// Two restores, or a restore and an import, begin with an empty device. The one that waits for the
// other changes nothing, or replaces all with --force: the device would hold pages of both, and the
// command would succeed.
func TestRestoreDuringAnImport(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	from := mount(t, "--size", "32M")
	fillDevice(t, contentFile(t, bytes.Join(pages.Mix(3000, 6), nil), 32<<20), from, 3000)
	file := filepath.Join(tempDir(t), "saved")
	mustRun(t, commandTimeout, "snapshot", "save", from, file)
	const last = 32<<20/pageSize - 1
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{file}, "the device was written to while the file was checked, so nothing was changed"},
		{[]string{"--resume", file}, fmt.Sprintf("page %d: the device holds something else there, so nothing was changed", last)},
	} {
		to := mount(t, "--size", "32M")
		if r := duringImport(t, to, last, c.args...); r.Code != 1 || !strings.Contains(r.Stderr, c.want) {
			t.Errorf("restore %q: exit code %d: %s%s", c.args, r.Code, r.Stdout, r.Stderr)
		}
		if n := statusOf(t, to).Memory.PagesStored; n != 1 {
			t.Errorf("restore %q: the device holds %d pages, want that of the other alone", c.args, n)
		}
	}
	to := mount(t, "--size", "32M")
	if r := duringImport(t, to, last, "--force", file); r.Code != 0 {
		t.Errorf("restore --force: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	system(t, commandTimeout, "cmp", data(from), data(to))
}

// duringImport restores to an empty device while another import stores a page there, which the
// restore has to wait for.
func duringImport(t *testing.T, to string, page uint64, args ...string) result {
	t.Helper()
	s := statusOf(t, to)
	other, err := control.OpenImport(to, s.Fuse.Connection, s.Opens)
	if err != nil {
		t.Fatal(err)
	}
	return afterItWaits(t, append(append([]string{"snapshot", "restore"}, args...), to), func() {
		if err := errors.Join(other.Word(page, 7), other.Flush(), other.Close()); err != nil {
			t.Error(err)
		}
	})
}

// afterItWaits runs the program, and f once that waits for its turn to import.
func afterItWaits(t *testing.T, args []string, f func()) result {
	t.Helper()
	cmd := command(t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(commandTimeout, func() { _ = cmd.Process.Kill() }) // it may have ended
	defer kill.Stop()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for len(ended) == 0 && !imports(cmd.Process.Pid) {
		time.Sleep(time.Millisecond)
	}
	f()
	<-ended // with the exit code
	return result{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// imports reports whether a process has the memory by which it hands pages to a worker.
func imports(pid int) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // none once it has ended
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.HasPrefix(target, "/memfd:zramfs-import") {
			return true
		}
	}
	return false
}
