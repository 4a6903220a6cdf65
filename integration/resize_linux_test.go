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

	"github.com/zramfs/zramfs/internal/require"
)

// A device that was reset stays so, also where the worker that has done it dies at once: it has
// published the new image before its first answer.
func TestResetSurvivesTheWorkerThatDidIt(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if os.Getenv(apartVariable) == "" {
		runWithPoints(t)
		return
	}
	setDebug(t, debugNoPause)
	file := filepath.Join(tempDir(t), "at")
	t.Setenv(killVariable, file)
	dir := mount(t, "--size", "16M", "-a", "lz4")
	for _, point := range []string{"index adopted", "image published", "found request answered", "server started"} {
		for _, c := range [][3]string{{"reset", "1", "0\n"}, {"disksize", "16M", "1\n"}} {
			if c[0] == "reset" {
				if err := os.WriteFile(data(dir), bytes.Repeat([]byte("old "), 4096), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := statusOf(t, dir).Restarts
			if err := os.WriteFile(file, fmt.Appendf(nil, "1 %s", point), 0o600); err != nil {
				t.Fatal(err)
			}
			setAttribute(t, dir, c[0], c[1])
			if got := attribute(t, dir, "initstate"); got != c[2] {
				t.Errorf("%s, killed at %q: initstate is %q, want %q", c[0], point, got, c[2])
			}
			if got := statusOf(t, dir).Restarts; got != before+1 {
				t.Errorf("%s: %d workers have died at %q, want 1", c[0], got-before, point)
			}
		}
		if text, err := os.ReadFile(data(dir)); err != nil || len(text) != 16<<20 || len(bytes.Trim(text, "\x00")) != 0 {
			t.Errorf("killed at %q: %d bytes are there, not all zeros, %v", point, len(text), err)
		}
	}
}

// A size that there is no memory for is ENOMEM, as in the kernel, and the device stays as it is.
func TestDisksizeWithoutMemory(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M", "-a", "lz4")
	device := filepath.Join(dir, "devices", addDevice(t, dir))
	first := statusOf(t, device)
	limit := unix.Rlimit{Cur: 16 << 30, Max: 16 << 30} // of the workers to come; the index alone takes 32 GiB
	if err := unix.Prlimit(first.KeeperPID, unix.RLIMIT_AS, &limit, nil); err != nil {
		t.Fatal(err)
	}
	if got := answerTo(filepath.Join(device, "block/zram0/disksize"), "16T"); got != unix.ENOMEM.Error() {
		t.Errorf("a size without memory: %s, want %v", got, unix.ENOMEM)
	}
	if got := statusOf(t, device); got.Restarts > 1 || attribute(t, device, "initstate") != "0\n" {
		t.Errorf("after a size without memory %d workers have died, initstate is %q", got.Restarts, attribute(t, device, "initstate"))
	}
	if got := answerTo(filepath.Join(device, "block/zram0/disksize"), "16M"); got != "3 bytes" {
		t.Errorf("a size that there is memory for: %s", got)
	}
	if s := strings.TrimSpace(attribute(t, device, "disksize")); s != fmt.Sprint(16<<20) {
		t.Errorf("the device has %s bytes", s)
	}
}
