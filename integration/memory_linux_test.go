// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
)

// TestMemoryIsNeverSwapped: as root the image lies in a tmpfs that is never
// swapped, where the kernel has that (Linux 6.4), and is told as such.
func TestMemoryIsNeverSwapped(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	if err := tryNoswap(); err != nil {
		t.Skipf("the kernel has no tmpfs with noswap (Linux 6.4): %v", err)
	}
	memoryIs(t, "tmpfs", "noswap", status.OK)
}

func tryNoswap() error {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	return errors.Join(unix.FsconfigSetFlag(fs, "noswap"), unix.Close(fs))
}

// TestUserNSMemoryFallsBack: the kernel refuses such a tmpfs in a user
// namespace, so that the image lies in a memfd there.
func TestUserNSMemoryFallsBack(t *testing.T) {
	if !inUserNS(t) {
		return
	}
	memoryIs(t, "memfd", "memfd", status.Warn)
}

// memoryIs serves a device, checks what holds its image and what is said of it,
// and uses it.
func memoryIs(t *testing.T, kind, called string, state status.State) {
	t.Helper()
	f := serve(t, filepath.Join(tempDir(t), "zram"), "--size", "8M")
	file, got := image(t, f.pid)
	if got != kind {
		t.Errorf("the image is in a %s, want %s", got, kind)
	}
	f.log.wait(t, "memory="+called)
	i := slices.IndexFunc(statusOf(t, f.dir).Protections, func(p status.Protection) bool { return p.Name == status.NameImage })
	if i < 0 || statusOf(t, f.dir).Protections[i].State != state {
		t.Errorf("protections %+v, want %s of state %s", statusOf(t, f.dir).Protections, status.NameImage, state)
	}
	if err := tryData(data(f.dir)); err != nil {
		t.Error(err)
	}
	checkTaken(t, f.dir, int(file.Fd()))
}

// checkTaken compares what an image really takes of the machine's memory with
// what the device says (F074).
func checkTaken(t *testing.T, dir string, fd int) {
	t.Helper()
	var taken, told uint64
	for range 100 { // memory is taken and given back in the background
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			t.Fatal(err)
		}
		taken, told = uint64(st.Blocks)*512, statField(t, dir, 2)
		if taken == told {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("the image takes %d bytes of memory, mm_stat says %d", taken, told)
}
