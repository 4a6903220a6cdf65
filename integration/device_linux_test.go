// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
)

// appearTimeout is what G.107 allows for a device to appear.
const appearTimeout = 5 * time.Second

// G.107: the device appears within 5 s and does I/O.
func TestG107DeviceAppearsAndDoesIO(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	binary(t)
	began := time.Now()
	dir := mount(t, "--size", "1G")
	if err := tryData(data(dir)); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > appearTimeout {
		t.Errorf("it took %s, more than %s", took, appearTimeout)
	}
	if s := statusOf(t, dir); s.Disksize != 1<<30 || s.Dir != dir || !running(s.PID) {
		t.Errorf("status %+v", s)
	}
}

// TestLargestDevice uses a device of 16 TiB. Most of it is never touched and takes no memory, not
// even to be read.
func TestLargestDevice(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	const size, piece = 16 << 40, 1 << 20
	dir := mount(t, "--size", "16T")
	fd := int(openData(t, dir, unix.O_DIRECT).Fd())
	places := []int64{0, size/3 - 5, size / 2, size - piece}
	want := make([]byte, piece)
	for i := range want {
		want[i] = byte(i / 7)
	}
	for _, at := range places {
		if n, err := unix.Pwrite(fd, want, at); n != piece || err != nil {
			t.Fatalf("write at %d: %d, %v", at, n, err)
		}
	}
	for _, at := range places {
		mustRead(t, fd, want, at)
	}
	used := inUse(statusOf(t, dir).Memory)
	if used > 16<<20 {
		t.Errorf("it takes %d bytes of memory with 4 MiB stored", used)
	}
	clear(want)
	for i := range int64(64) {
		mustRead(t, fd, want, size/4+i<<36)
	}
	if err := unix.Fallocate(fd, punchHole, 0, size); err != nil {
		t.Error(err)
	}
	if m := statusOf(t, dir).Memory; m.OrigDataSize != 0 || inUse(m) > used+piece {
		t.Errorf("reading and discarding: %+v, before %d bytes of memory", m, used)
	}
}

// inUse is the memory that a device has taken without the reserve, which is
// filled up in the background.
func inUse(m status.Memory) uint64 { return m.MemUsedTotal - m.ReserveBytes }

// mustRead reads as much as is wanted.
func mustRead(t *testing.T, fd int, want []byte, at int64) {
	t.Helper()
	got := make([]byte, len(want))
	n, err := unix.Pread(fd, got, at)
	if err != nil || n != len(want) || !bytes.Equal(got, want) {
		t.Fatalf("read at %d: %d bytes, %v, %v", at, n, err, difference(got, want, int(at)))
	}
}
