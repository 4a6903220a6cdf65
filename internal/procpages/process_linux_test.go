// SPDX-License-Identifier: Apache-2.0

package procpages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/memproc"
	"github.com/zramfs/zramfs/internal/require"
)

// The child's memory: pages written, with a mark and their number; pages only read; pages locked.
const (
	asChild   = "PROCPAGES_TEST_CHILD"
	written   = 300
	touched   = 50
	locked    = 8 // few: RLIMIT_MEMLOCK
	childMark = 0x5aa5_1234_8765_f00f
	lockMark  = 0x1dea_5555_0bad_cafe
)

func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		if err := beChild(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// beChild takes memory, says "ready" and waits for its standard input to end.
func beChild() error {
	memory, err := mapped(written + touched)
	if err != nil {
		return err
	}
	sum := byte(0)
	for page := written; page < written+touched; page++ {
		sum += memory[page*PageSize] // the zero page first, so that it is in the way
	}
	fill(memory[:written*PageSize], childMark)
	safe, err := mapped(locked)
	if err != nil {
		return err
	}
	fill(safe, lockMark)
	if err := unix.Mlock(safe); err != nil {
		return err
	}
	fmt.Println("ready", sum)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// mapped returns fresh memory in 4096-byte pages.
func mapped(pages int) ([]byte, error) {
	memory, err := unix.Mmap(-1, 0, pages*PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	err = unix.Madvise(memory, unix.MADV_NOHUGEPAGE)
	if errors.Is(err, unix.EINVAL) { // a kernel without huge pages
		err = nil
	}
	return memory, err
}

// fill begins each page with mark and its number.
func fill(memory []byte, mark uint64) {
	for at := 0; at < len(memory); at += PageSize {
		binary.NativeEndian.PutUint64(memory[at:], mark)
		binary.NativeEndian.PutUint64(memory[at+8:], uint64(at/PageSize))
	}
}

// startChild returns the number of a child that holds its memory until the test ends, and a
// function that ends it before.
func startChild(t *testing.T) (pid int, end func()) {
	t.Helper()
	return memproc.StartSelf(t, asChild, "ready 0\n")
}

// marked returns the numbers of the pages that begin with mark.
func marked(memory []byte, mark uint64) []int {
	var numbers []int
	for page := range slices.Chunk(memory, PageSize) {
		if binary.NativeEndian.Uint64(page) == mark {
			numbers = append(numbers, int(binary.NativeEndian.Uint64(page[8:])))
		}
	}
	return numbers
}

// All pages that the child wrote are found, in order, with their contents; none that it only read
// or has locked.
func TestChildIsReadCompletely(t *testing.T) {
	pid, _ := startChild(t)
	s := NewSample(1<<20, 0, 0)
	if err := s.Add(t.Context(), pid); err != nil {
		t.Fatal(err)
	}
	if int64(len(s.Pages())) != s.Seen()*PageSize {
		t.Errorf("%d bytes of %d pages are taken", len(s.Pages()), s.Seen())
	}
	got := marked(s.Pages(), childMark)
	if len(got) != written || !slices.IsSorted(got) || got[0] != 0 || got[written-1] != written-1 {
		t.Errorf("pages %d of the child are found, want all of 0 to %d", got, written-1)
	}
	if got := marked(s.Pages(), lockMark); got != nil {
		t.Errorf("locked pages %d are found", got)
	}
	count, err := CountOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	if count.Resident < (written+locked)*PageSize || count.Resident < s.Seen()*PageSize {
		t.Errorf("%d bytes are counted, %d pages were seen", count.Resident, s.Seen())
	}
}

// Of a part the share of the child's pages is that of its memory.
func TestChildIsSampledEvenly(t *testing.T) {
	pid, _ := startChild(t)
	count, err := CountOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSample(200, count.Resident/PageSize, 0.5)
	if err := s.Add(t.Context(), pid); err != nil {
		t.Fatal(err)
	}
	taken := len(s.Pages()) / PageSize
	share := float64(taken) / float64(s.Seen())
	got := len(marked(s.Pages(), childMark))
	if want := share * written; math.Abs(float64(got)-want) > 3 {
		t.Errorf("%d of the child's pages among %d of %d, want about %.0f", got, taken, s.Seen(), want)
	}
}

// Looking makes nothing resident: the pages that the child has not touched stay so.
func TestLookingLeavesResidentMemoryAlone(t *testing.T) {
	pid, _ := startChild(t)
	before, err := CountOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := NewSample(1<<20, 0, 0).Add(t.Context(), pid); err != nil {
		t.Fatal(err)
	}
	after, err := CountOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	// The child's runtime may allocate some memory by itself; the 50 pages are more than that.
	if grown := after.Resident - before.Resident; grown >= touched*PageSize {
		t.Errorf("%d bytes more are resident", grown)
	}
}

func TestProcessThatHasEnded(t *testing.T) {
	pid, end := startChild(t)
	m, err := Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	end()
	if err := m.Walk(t.Context(), func(int64) error { return nil }); !errors.Is(err, ErrGone) {
		t.Errorf("walk: %v, want %v", err, ErrGone)
	}
	if _, err := CountOf(pid); !errors.Is(err, ErrGone) {
		t.Errorf("count: %v, want %v", err, ErrGone)
	}
	if _, err := Open(pid); !errors.Is(err, ErrGone) {
		t.Errorf("open: %v, want %v", err, ErrGone)
	}
}

func TestProcessesListsThisOne(t *testing.T) {
	pids, err := Processes()
	if err != nil || !slices.Contains(pids, os.Getpid()) {
		t.Errorf("%d, %v: without %d", pids, err, os.Getpid())
	}
}

// Another user's process may be counted but not looked into.
func TestAnotherUsersProcess(t *testing.T) {
	require.Root(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestRefused$")
	cmd.Env = append(os.Environ(), "PROCPAGES_TEST_REFUSED="+strconv.Itoa(os.Getpid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestRefused is run by TestAnotherUsersProcess.
func TestRefused(t *testing.T) {
	pid, err := strconv.Atoi(os.Getenv("PROCPAGES_TEST_REFUSED"))
	if err != nil {
		t.Skip("only as another user")
	}
	if _, err := Open(pid); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("open: %v, want %v", err, fs.ErrPermission)
	}
	if count, err := CountOf(pid); err != nil || count.Resident == 0 {
		t.Errorf("count: %+v, %v", count, err)
	}
}
