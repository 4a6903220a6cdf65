// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// A ground is what suites of others run on: a loop device on a data file. The caller may have swap
// on it, or on files below the parent of dir, once guardGround has been called.
type ground struct {
	dir  string // data(dir) is under the loop device
	loop string
}

// work returns a directory for the files of a suite, which every user may write to.
func (g ground) work(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(filepath.Dir(g.dir), "work")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A maker makes a ground of that many bytes for a test.
type maker func(t *testing.T, size uint64) ground

// onDevice makes a ground of our device.
func onDevice(t *testing.T, size uint64) ground {
	t.Helper()
	dir := mount(t, "--size", strconv.FormatUint(size, 10))
	return ground{dir, losetup(t, data(dir))}
}

// onReference makes a ground of a file of a tmpfs that the kernel does not swap: a test that fails
// there as well is not ours to mend. Its file lies where that of a device does, so that what guards
// and detaches our devices serves here too.
func onReference(t *testing.T, size uint64) ground {
	t.Helper()
	dir := filepath.Join(tempDir(t), "reference")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	system(t, commandTimeout, "mount", "-t", "tmpfs", "-o", "noswap,size="+strconv.FormatUint(size+size/8, 10), "reference", dir)
	t.Cleanup(func() {
		detachLoops(t, dir)
		system(t, commandTimeout, "umount", dir)
	})
	if err := os.Mkdir(filepath.Dir(data(dir)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(data(dir), int64(size)); err != nil {
		t.Fatal(err)
	}
	return ground{dir, losetup(t, data(dir))}
}

func losetup(t *testing.T, file string) (loop string) {
	t.Helper()
	return strings.TrimSpace(system(t, toolTimeout, "losetup", "--direct-io=on", "--sector-size", "4096", "-f", "--show", file))
}

// requireGrounds skips the test where no ground can be made.
func requireGrounds(t *testing.T) {
	t.Helper()
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	binary(t)
}

// guardGround opens a window as guardSwap does, for a suite that turns swap on by itself: it has to
// be off when the test ends.
func guardGround(t *testing.T, g ground) {
	t.Helper()
	require.Swap(t)
	guarding := startGuard(t, g.dir, guardLimit)
	t.Cleanup(func() {
		defer guarding.dismiss(t)
		on, err := swapOn(g.dir)
		if err != nil || len(on) > 0 {
			t.Errorf("the suite has left swap on: %+v, %v", on, err)
		}
		if err := (&guard{dir: g.dir}).turnOff(); err != nil {
			t.Error(err)
		}
	})
}
