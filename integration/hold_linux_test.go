// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// Where the image could be swapped, the keeper holds all of it locked when no
// worker is left, and the next one finds it whole.
func TestKeeperHoldsImageLocked(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	f := serve(t, filepath.Join(tempDir(t), "zram"), "--size", "64M", "--memory", "memfd")
	if p := protection(t, f.dir, status.NameImage); p.State != status.OK || !strings.Contains(p.Detail, "keeper") {
		t.Errorf("%+v", p)
	}
	for _, name := range []string{
		status.NameIOFlusher, status.NameCore, status.NameOOM, status.NameMemory, status.NamePopulate, status.NameCollector,
		status.NameCgroup, status.NameScheduling, status.NameTimeout,
	} {
		protection(t, f.dir, name) // the status has each
	}
	want := make([]byte, 24<<20)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range want {
		want[i] = byte(rng.Uint32())
	}
	err := withData(f.dir, func(fd int) error {
		_, err := unix.Pwrite(fd, want, 1<<20)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	endWorkers(t, f)
	memory, _ := image(t, f.pid)
	taken := takenBy(t, memory)
	if locked := mapped(t, f.pid, "zramfs", "Locked"); taken < int64(len(want)) || locked != taken {
		t.Errorf("the image takes %d bytes, and the keeper has %d locked", taken, locked)
	}
	mustRun(t, commandTimeout, "upgrade", f.dir)
	got, err := readRange(f.dir, 1<<20, len(want))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("what was stored: %v, %v", err, difference(got, want, 1<<20))
	}
}

// protection is what the device on dir says of one.
func protection(t testing.TB, dir, name string) status.Protection {
	t.Helper()
	all := statusOf(t, dir).Protections
	i := slices.IndexFunc(all, func(p status.Protection) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("no protection %s in %+v", name, all)
	}
	return all[i]
}

// endWorkers leaves a device without a worker: the program of its workers may no longer be
// executed. Allowing that again brings one back.
func endWorkers(t *testing.T, f *foreground) (program string) {
	t.Helper()
	program = filepath.Join(tempDir(t), zramfsd.Name)
	system(t, toolTimeout, "cp", serverBeside(binary(t)), program)
	mustRun(t, commandTimeout, "upgrade", "--binary", program, f.dir)
	c := newCrashing(t, f.dir)
	if err := os.Chmod(program, 0o600); err != nil {
		t.Fatal(err)
	}
	c.kill()
	f.log.wait(t, "the next worker: ")
	if left := childrenOf(f.pid); len(left) > 0 {
		t.Fatalf("workers %v live", left)
	}
	return program
}

// takenBy is what a memory file takes of the machine, in bytes.
func takenBy(t *testing.T, f *os.File) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// mapped sums a field of /proc/PID/smaps over a process's mappings of a memory file,
// in bytes.
func mapped(t *testing.T, pid int, file, field string) (bytes int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		t.Fatal(err)
	}
	ours := false
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, " ")
		if !strings.HasSuffix(name, ":") { // the head of a mapping
			ours = strings.HasSuffix(strings.TrimSpace(line), "/memfd:"+file+" (deleted)")
		}
		var kib int64
		if ours && name == field+":" {
			if _, err := fmt.Sscanf(rest, "%d kB", &kib); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			bytes += kib << 10
		}
	}
	return bytes
}

// All memory of requests is present before the first request, in both processes:
// nothing on the page path is the first to touch it.
func TestMemoryOfRequestsIsPresent(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	f := serve(t, filepath.Join(tempDir(t), "zram"), "--size", "64M")
	for _, pid := range []int{f.pid, statusOf(t, f.dir).WorkerPID} {
		const file = "zramfs-requests"
		size, present, locked := mapped(t, pid, file, "Size"), mapped(t, pid, file, "Rss"), mapped(t, pid, file, "Locked")
		if size == 0 || present != size || locked == 0 {
			t.Errorf("process %d has %d of %d bytes present, a share of %d bytes locked", pid, present, size, locked)
		}
	}
}
