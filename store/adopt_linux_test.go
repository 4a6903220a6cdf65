// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

func init() {
	children["leave an image"] = leaveAnImage
}

// startChild runs a child with files as its descriptors 3 and up. It is killed at
// the test's end at the latest.
func startChild(t *testing.T, name string, files ...*os.File) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVariable+"="+name)
	cmd.ExtraFiles, cmd.Stderr = files, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL} // it may wait for this process in a loop
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()         // it was killed
		}
	})
	return cmd
}

// killed waits for a child that is to die by SIGKILL.
func killed(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	_ = cmd.Wait() // tells what the state tells better
	if status, ok := cmd.ProcessState.Sys().(interface{ Signal() unix.Signal }); !ok || status.Signal() != unix.SIGKILL {
		t.Fatalf("the child ended otherwise: %v", cmd.ProcessState)
	}
}

const leftPages = 2000

// leaveAnImage is a worker that dies at work. It takes its memory file and a
// keeper's ear from its parent.
func leaveAnImage() error {
	mem, err := AdoptMemory(os.NewFile(3, "image"), MemoryKind(os.Getenv("KIND")))
	if err != nil {
		return err
	}
	mem.LockVia(os.NewFile(4, "keeper"))
	a, err := codec.Parse("adaptive")
	if err != nil {
		return err
	}
	s, err := Create(mem, Config{Disksize: 16 << 20, Algorithm: a})
	if err != nil {
		return err
	}
	w := s.Acquire()
	for page := range uint32(leftPages) {
		if err := w.Write(uint64(page), 0, content{page, 1, contentKind(page) % contentKinds}.bytes()); err != nil {
			return err
		}
	}
	return unix.Kill(os.Getpid(), unix.SIGKILL)
}

// socketPair is two ends of a conversation that closes with either.
func socketPair(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
}

// A keeper has what a killed worker wrote, all of it locked where it could be
// swapped, and another worker carries on.
func TestWorkerDiesAndItsImageStays(t *testing.T) {
	for _, kind := range []MemoryKind{MemoryAuto, MemoryMemfd} {
		t.Run(string(kind), func(t *testing.T) {
			keeper, err := NewMemory(kind)
			if err != nil {
				t.Fatal(err)
			}
			ours, theirs := socketPair(t)
			t.Cleanup(func() {
				if err := errors.Join(ours.Close(), keeper.Close()); err != nil {
					t.Error(err)
				}
			})
			served := make(chan error)
			go func() { served <- keeper.ServeLocks(ours) }()
			t.Setenv("KIND", string(keeper.Kind()))
			cmd := startChild(t, "leave an image", keeper.File(), theirs)
			if err := theirs.Close(); err != nil {
				t.Fatal(err)
			}
			killed(t, cmd)
			if err := <-served; err != nil {
				t.Fatal(err)
			}
			// The worker may have died while it took a segment, which holds nothing yet.
			takes, err := keeper.Taken()
			if not := takes - locked(t); err != nil || keeper.Kind() == MemoryMemfd && (not < 0 || not > image.SegmentSize) {
				t.Errorf("the image takes %d bytes (%v), of which the keeper has %d not locked", takes, err, not)
			}
			carryOn(t, keeper)
		})
	}
}

// carryOn opens the image that keeper holds, as another process would.
func carryOn(t *testing.T, keeper *Memory) {
	t.Helper()
	fd, err := unix.Dup(int(keeper.File().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	mem, err := AdoptMemory(os.NewFile(uintptr(fd), "image"), keeper.Kind())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(mem, withAlgorithm(t, Config{}))
	if err != nil {
		t.Fatal(err)
	}
	for page := range uint32(leftPages) {
		if !bytes.Equal(read(t, s, uint64(page)), content{page, 1, contentKind(page) % contentKinds}.bytes()) {
			t.Errorf("page %d is wrong", page)
		}
	}
	write(t, s, 7, content{7, 2, random}.bytes())
	finish(t, s)
	if err := mem.Close(); err != nil {
		t.Error(err)
	}
}

// locked is how much of memfds this process has locked, in bytes.
func locked(t *testing.T) (total int64) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	ours := false
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if first, _, _ := strings.Cut(line, " "); !strings.HasSuffix(first, ":") { // begins another mapping
			ours = strings.Contains(line, "/memfd:zramfs")
		}
		kib := int64(0)
		if n, _ := fmt.Sscanf(line, "Locked: %d kB", &kib); n == 1 && ours {
			total += kib << 10
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	return total
}

// Memory that Open maps by reading is written to without a fault as well.
func TestAdoptedMemoryIsWritable(t *testing.T) {
	const size = 4 << 20
	mem, err := NewMemory(MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { return mem.reserve(size) }, func() error { return mem.allocate(0, size) }, mem.unmap,
		func() error { return mem.reserve(size) }, func() error { return mem.adopt(0, size) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	before := minorFaults(t)
	for i := 0; i < size; i += PageSize {
		mem.mem[i]++
	}
	if n := minorFaults(t) - before; n > size/PageSize/100 { // the runtime may have some of its own
		t.Errorf("%d faults on %d pages", n, size/PageSize)
	}
	if err := mem.Close(); err != nil {
		t.Error(err)
	}
}

func minorFaults(t *testing.T) int64 {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Minflt
}

// When the keeper is gone a worker goes on without it.
func TestKeeperDies(t *testing.T) {
	mem, err := NewMemory(MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := socketPair(t)
	mem.LockVia(theirs)
	if err := ours.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Create(mem, withAlgorithm(t, Config{Disksize: 1 << 20}))
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, 1, content{1, 1, random}.bytes())
	finish(t, s)
	if err := errors.Join(theirs.Close(), mem.Close()); err != nil {
		t.Error(err)
	}
}

// deafKeeper refuses to hold anything.
type deafKeeper struct{}

func (deafKeeper) Write(p []byte) (int, error) { return len(p), nil }

func (deafKeeper) Read(p []byte) (int, error) {
	p[0] = 1
	return 1, nil
}

// Memory that the keeper cannot lock is not used, and given back.
func TestMemoryThatCannotBeHeldIsNotTaken(t *testing.T) {
	mem, err := NewMemory(MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	mem.LockVia(deafKeeper{})
	if _, err := Create(mem, withAlgorithm(t, Config{Disksize: 1 << 20})); !errors.Is(err, errNotLocked) {
		t.Errorf("%v, want errNotLocked", err)
	}
	if n, err := mem.Taken(); n != 0 || err != nil {
		t.Errorf("%d bytes are taken (%v)", n, err)
	}
	if err := mem.Close(); err != nil {
		t.Error(err)
	}
}

func TestHoldOutsideTheFile(t *testing.T) {
	mem, err := NewMemory(MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	if err := mem.file.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]int64{{-PageSize, PageSize}, {0, 2 << 20}, {1 << 20, PageSize}, {1, PageSize}, {0, -1}, {1<<63 - PageSize, PageSize}} {
		if err := mem.Lock(c[0], c[1]); !errors.Is(err, ErrRange) {
			t.Errorf("%d bytes at %d: %v, want ErrRange", c[1], c[0], err)
		}
	}
	if err := mem.Close(); err != nil {
		t.Error(err)
	}
}

// A file that is no memory file is refused, and closed.
func TestAdoptRefuses(t *testing.T) {
	open := func(path string, flags int) func() (*os.File, error) {
		return func() (*os.File, error) { return os.OpenFile(path, flags, 0o600) }
	}
	onTmpfs := filepath.Join("/dev/shm", "zramfs-"+filepath.Base(t.TempDir()))
	t.Cleanup(func() {
		if err := os.Remove(onTmpfs); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		name string
		open func() (*os.File, error)
		kind MemoryKind
	}{
		{"file of a disk", open(filepath.Join(t.TempDir(), "image"), os.O_RDWR|os.O_CREATE), MemoryNoswap},
		{"device", open("/dev/null", os.O_RDWR), MemoryNoswap},
		{"named file as a memfd", open(onTmpfs, os.O_RDWR|os.O_CREATE), MemoryMemfd},
		{"directory", open("/dev/shm", os.O_RDONLY), MemoryNoswap},
		{"read-only", open(onTmpfs, os.O_RDONLY), MemoryNoswap},
		{"memfd as noswap", openMemfd, MemoryNoswap},
		{"kind auto", openMemfd, MemoryAuto},
		{"kind heap", openMemfd, MemoryHeap},
	} {
		f, err := c.open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := AdoptMemory(f, c.kind); !errors.Is(err, ErrNotMemory) {
			t.Errorf("%s: %v, want ErrNotMemory", c.name, err)
		}
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: the file was left open: %v", c.name, err)
		}
	}
}
