// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// backingFile makes a file for a backing device. It lies on a disk: others are refused.
func backingFile(t *testing.T, size int64) string {
	t.Helper()
	f, err := os.CreateTemp("/var/tmp", "zramfs-backing-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(f.Name()); err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	})
	if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	return f.Name()
}

// wantAnswer checks what the device answers to a write.
func wantAnswer(t *testing.T, dir, name, text string, want error) {
	t.Helper()
	wanted := fmt.Sprintf("%d bytes", len(text))
	if want != nil {
		wanted = want.Error()
	}
	if got := answerTo(filepath.Join(dir, "block/zram0", name), text); got != wanted {
		t.Errorf("%q to %s: %s, want %s", text, name, got, wanted)
	}
}

// backedFigure is a figure of bd_stat: 0 for pages there, 1 for reads, 2 for writes.
func backedFigure(t *testing.T, dir string, n int) uint64 {
	t.Helper()
	figure, err := strconv.ParseUint(strings.Fields(attribute(t, dir, "bd_stat"))[n], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return figure
}

// backedPages is what the first pages of a device hold: every other one compresses.
func backedPages(n int) []byte {
	rng, all := rand.New(rand.NewPCG(7, 7)), make([]byte, n*pageSize)
	for i := range all {
		if all[i] = byte(rng.Uint32()); i/pageSize%2 == 1 && i%pageSize > 1000 {
			all[i] = 'x'
		}
	}
	return all
}

// Workers are killed at random instants under a verifying load on a loop device, while everything
// is written back again and again, to a file and to a loop device: no error and no wrong byte.
func TestWriteBackUnderCrashes(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	setDebug(t, debugNoPause)
	kills := 10
	if testing.Short() {
		kills = 3
	}
	for _, kind := range []string{"file", "loop device"} {
		t.Run(kind, func(t *testing.T) {
			backing := backingFile(t, 16<<20)
			if kind == "loop device" {
				backing = attachBacking(t, backing)
			}
			dir := mount(t, "--size", crashSize, "--spill", backing)
			loop := attachments["loopsetup"](t, dir)
			stop, ended := make(chan struct{}), make(chan string, 1)
			go func() { ended <- writeBackForEver(dir, stop) }()
			c := newCrashing(t, dir)
			v := startVerifier(t, verifyOrder{Path: loop, Bytes: crashBytes, Threads: 4, Seed: 3})
			c.killUnder(v, kills, time.Second/2)
			close(stop)
			if wrong := <-ended; wrong != "" {
				t.Error(wrong)
			}
			c.report(v.end(t))
			c.settled()
			if reads, writes := backedFigure(t, dir, 1), backedFigure(t, dir, 2); reads == 0 || writes == 0 {
				t.Errorf("%d pages were read and %d written: this proves nothing", reads, writes)
			} else {
				t.Logf("%d pages written back, %d read", writes, reads)
			}
		})
	}
}

// attachBacking puts a loop device on a file, and detaches it with the test.
func attachBacking(t *testing.T, file string) string {
	t.Helper()
	loop := strings.TrimSpace(system(t, commandTimeout, "losetup", "--find", "--show", "--direct-io=on", "--sector-size", "4096", file))
	t.Cleanup(func() { system(t, commandTimeout, "losetup", "--detach", loop) })
	return loop
}

// writeBackForEver writes everything back until it is stopped, and returns what was wrong.
func writeBackForEver(dir string, stop <-chan struct{}) (wrong string) {
	path := filepath.Join(dir, "block/zram0/writeback")
	for n := 0; ; n++ {
		select {
		case <-stop:
			return wrong
		case <-time.After(time.Millisecond):
		}
		text := []string{"huge", "page_indexes=0-2000", "page_indexes=2000-16383"}[n%3]
		switch got := answerTo(path, text); got {
		case fmt.Sprintf("%d bytes", len(text)), syscall.ENOSPC.Error():
		default:
			wrong = fmt.Sprintf("%q to writeback: %s", text, got)
		}
	}
}

// A backing device that is full, removed or cut off costs no page in memory, and what lies there
// is an I/O error or what it was.
func TestBackingDeviceFails(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	const pages, room = 1000, 256
	backing := backingFile(t, room*pageSize)
	dir := mount(t, "--size", "16M", "--spill", backing)
	want := backedPages(pages)
	f := openData(t, dir, 0)
	mustWrite := func(p []byte, at int64) {
		t.Helper()
		if _, err := f.WriteAt(p, at); err != nil {
			t.Fatal(err)
		}
	}
	mustWrite(want, 0)
	mustRead(t, int(f.Fd()), want, 0)
	if got := attribute(t, dir, "backing_dev"); got != backing+"\n" {
		t.Errorf("backing_dev is %q, want %s", got, backing)
	}
	wantAnswer(t, dir, "backing_dev", backing, syscall.EBUSY)
	if r := run(t, commandTimeout, "mount", "--size", "16M", "--spill", backing, tempDir(t)); r.Code != 1 || !strings.Contains(r.Stderr, "in use by another device") {
		t.Errorf("another device on the same file: exit code %d, %q", r.Code, r.Stderr)
	}
	wantAnswer(t, dir, "writeback", "page_indexes=0-999", syscall.ENOSPC)
	if n := backedFigure(t, dir, 0); n != room {
		t.Errorf("%d pages lie on a device with room for %d", n, room)
	}
	mustRead(t, int(f.Fd()), want, 0)

	if err := os.Remove(backing); err != nil {
		t.Fatal(err)
	}
	c := newCrashing(t, dir)
	c.kill()
	mustRead(t, int(f.Fd()), want, 0)
	if got := backedFigure(t, dir, 0); got != room {
		t.Errorf("%d pages lie on a device that was removed, %d before", got, room)
	}
	if r := run(t, commandTimeout, "export", dir, filepath.Join(tempDir(t), "out")); r.Code != 1 || !strings.Contains(r.Stderr, "lies on the backing device") {
		t.Errorf("export: exit code %d, %q", r.Code, r.Stderr)
	}
	if r := mustRun(t, commandTimeout, "verify", dir); !strings.Contains(r.Stdout, "256 pages on the backing device not checked") {
		t.Errorf("verify: %q", r.Stdout)
	}

	cut, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", c.keeper, descriptorOf(t, c.keeper, backing)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := cut.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if err := cut.Close(); err != nil {
		t.Error(err)
	}
	lost, p := 0, make([]byte, pageSize)
	for page := range pages {
		_, err := f.ReadAt(p, int64(page*pageSize))
		switch {
		case err != nil:
			lost++
		case !bytes.Equal(p, want[page*pageSize:(page+1)*pageSize]):
			t.Fatalf("page %d is wrong", page)
		}
	}
	if lost != room {
		t.Errorf("%d pages are lost, %d lay on the device", lost, room)
	}
	mustWrite(want, 0)
	mustRead(t, int(f.Fd()), want, 0)
	if n := backedFigure(t, dir, 0); n != 0 {
		t.Errorf("%d pages lie on the device after all were written anew", n)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// A burst of writes to a device with a backing device is held up at the memory limit, and no write
// fails as long as the backing device and the budget of a day have room, which workers that die
// keep to together. Then writes fail, and reads go on.
func TestFullDeviceSpills(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	const limit, budget, pages, chunk = 16 << 20, 64 << 20, 20000, 32
	backing := backingFile(t, 2*budget)
	dir := mount(t, "--size", "128M", "--mem-limit", strconv.Itoa(limit), "--spill", backing, "--spill-daily", strconv.Itoa(budget))
	want := make([]byte, pages*pageSize)
	if _, err := rand.NewChaCha8([32]byte{5}).Read(want); err != nil {
		t.Fatal(err)
	}
	c := newCrashing(t, dir)
	fd := openData(t, dir, 0)
	write := func(from int) error {
		_, err := fd.WriteAt(want[from*pageSize:(from+chunk)*pageSize], int64(from*pageSize))
		return err
	}
	stored := 0
	for ; stored < pages; stored += chunk {
		if stored == pages/4 {
			c.kill()
		}
		if err := write(stored); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			break
		}
	}
	s := statusOf(t, dir)
	if most, least := (limit+budget)/pageSize, (limit/2+budget-16<<20)/pageSize; stored < least || stored > most {
		t.Errorf("%d pages were taken, %d to %d should be", stored, least, most)
	}
	if s.Spill.SpentBytes > budget || s.Backing.Writes*pageSize > budget || s.Backing.Writes*pageSize < budget-16<<20 || !strings.Contains(s.Spill.Reason, "24 hours") {
		t.Errorf("%d pages went to the backing device; %+v", s.Backing.Writes, s.Spill)
	}
	if s.Stalls.Requests == 0 || s.IO.FailedWrites == 0 {
		t.Errorf("%d writes waited and %d failed: this proves nothing", s.Stalls.Requests, s.IO.FailedWrites)
	}
	mustRead(t, int(fd.Fd()), want[:stored*pageSize], 0)
	if err := unix.Fallocate(int(fd.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, int64(stored*pageSize)); err != nil {
		t.Fatal(err)
	}
	if err := write(0); err != nil {
		t.Errorf("after pages were freed: %v", err)
	}
	mustRead(t, int(fd.Fd()), want[:chunk*pageSize], 0)
	if err := fd.Close(); err != nil {
		t.Error(err)
	}
}

// A backing device that lies on a file in memory is refused, however many devices are between.
func TestBackingDeviceBelow(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	require.Command(t, "mkfs.ext4")
	f, err := os.CreateTemp("/dev/shm", "zramfs-backing-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(f.Name()); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(f.Truncate(8<<20), f.Close()); err != nil {
		t.Fatal(err)
	}
	memory := attachBacking(t, f.Name())
	files := tempDir(t)
	system(t, commandTimeout, "mkfs.ext4", "-q", memory)
	system(t, commandTimeout, "mount", memory, files)
	t.Cleanup(func() { system(t, commandTimeout, "umount", files) })
	file := filepath.Join(files, "file")
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, refused := range []string{file, attachBacking(t, file)} {
		if r := run(t, commandTimeout, "mount", "--size", "16M", "--spill", refused, tempDir(t)); r.Code != 1 || !strings.Contains(r.Stderr, "lies in memory") {
			t.Errorf("%s: exit code %d, %q", refused, r.Code, r.Stderr)
		}
	}
	mount(t, "--size", "16M", "--spill", attachBacking(t, attachBacking(t, backingFile(t, 8<<20))))
}

// descriptorOf is the descriptor that a process has of a file, which may be removed.
func descriptorOf(t *testing.T, pid int, file string) int {
	t.Helper()
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range all {
		if name, err := os.Readlink(fd); err == nil && strings.HasPrefix(name, file) {
			n, err := strconv.Atoi(filepath.Base(fd))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("process %d does not have %s", pid, file)
	return 0
}

// A device without a size gets its backing device by the attribute, as kernel zram's does, and
// loses it by reset. Where the kernel has such devices, its answers are compared.
func TestBackingDeviceByAttribute(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	dir := mount(t, "--size", "16M")
	wantAnswer(t, dir, "writeback", "huge", syscall.ENODEV)
	second := filepath.Join(dir, "devices", addDevice(t, dir))
	backing := attachBacking(t, backingFile(t, 8<<20))
	kernel := kernelBacking(t)
	both := func(name, text string, want error) {
		t.Helper()
		wantAnswer(t, second, name, text, want)
		if kernel != "" {
			if theirs := answerTo(filepath.Join("/sys/block", kernel, name), text); want == nil && !strings.HasSuffix(theirs, " bytes") || want != nil && theirs != want.Error() {
				t.Errorf("%q to %s: the kernel says %s, we say %v", text, name, theirs, want)
			}
		}
	}
	both("backing_dev", "/dev/null", syscall.ENOTBLK)
	both("backing_dev", "/nonexistent", syscall.ENOENT)
	both("backing_dev", "\n", syscall.ENOENT)
	both("writeback", "huge", syscall.EINVAL)
	wantAnswer(t, second, "backing_dev", "relative", syscall.EINVAL)
	wantAnswer(t, second, "backing_dev", filepath.Join(dir, "dev/zram0"), syscall.EINVAL) // FUSE
	wantAnswer(t, second, "backing_dev", backing, nil)
	wantAnswer(t, second, "reset", "1", nil) // takes it from a device without a size too, as the kernel's does
	if got := attribute(t, second, "backing_dev"); got != "none\n" {
		t.Errorf("after a reset backing_dev is %q", got)
	}
	wantAnswer(t, second, "backing_dev", backing, nil)
	wantAnswer(t, second, "backing_dev", backing+"\n", syscall.EBUSY) // it has it
	if got := attribute(t, second, "backing_dev"); got != backing+"\n" {
		t.Errorf("backing_dev is %q, want %s", got, backing)
	}
	c := newCrashing(t, second) // a worker that dies keeps it
	c.kill()
	if got := attribute(t, second, "backing_dev"); got != backing+"\n" {
		t.Errorf("the next worker has %q", got)
	}
	both("disksize", "16M", nil)
	both("backing_dev", backing, syscall.EBUSY)
	want := backedPages(500)
	if err := os.WriteFile(filepath.Join(dir, "dev/zram1"), want, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"nothing", "type=nothing", "page_index=x", "page_indexes=5"} {
		wantAnswer(t, second, "writeback", text, syscall.EINVAL)
	}
	for _, text := range []string{"page_index=4096", "page_indexes=7-6", "page_indexes=0-4096"} {
		wantAnswer(t, second, "writeback", text, syscall.ERANGE)
	}
	for _, k := range [][2]string{{"idle", "all"}, {"writeback", "page_index=7"}, {"writeback", "type=idle"}} {
		wantAnswer(t, second, k[0], k[1], nil)
	}
	if n := backedFigure(t, second, 0); n != 500 {
		t.Errorf("%d pages are written back, want 500", n)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "dev/zram1")); err != nil || !bytes.Equal(got[:len(want)], want) {
		t.Errorf("%v, or it is not what was written", err)
	}
	mustRun(t, commandTimeout, "set", second, "writeback-limit=8K")
	if got := attribute(t, second, "writeback_limit") + attribute(t, second, "writeback_limit_enable"); got != "2\n1\n" {
		t.Errorf("the limit is %q", got)
	}
	wantAnswer(t, second, "reset", "1", nil)
	if got := attribute(t, second, "backing_dev"); got != "none\n" {
		t.Errorf("after a reset backing_dev is %q", got)
	}
	mustRun(t, commandTimeout, "set", second, "spill="+backing) // it is free again
	wantAnswer(t, second, "reset", "1", nil)
	if got := attribute(t, second, "backing_dev"); got != "none\n" {
		t.Errorf("after another reset backing_dev is %q", got)
	}
}

// kernelBacking makes a zram device of the kernel, if that has backing devices; else it is empty.
func kernelBacking(t *testing.T) (name string) {
	t.Helper()
	if _, err := os.Stat("/sys/block/zram0/backing_dev"); err != nil {
		t.Log("the kernel has no CONFIG_ZRAM_WRITEBACK: its documented answers are compared alone")
		return ""
	}
	text, err := os.ReadFile("/sys/class/zram-control/hot_add")
	if err != nil {
		t.Fatal(err)
	}
	number := strings.TrimSpace(string(text))
	t.Cleanup(func() {
		if err := os.WriteFile("/sys/class/zram-control/hot_remove", []byte(number), 0o200); err != nil {
			t.Error(err)
		}
	})
	return "zram" + number
}
