// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
)

// A verified is what verify --json prints.
type verified struct {
	Verify struct {
		Pages      uint64   `json:"pages"`
		Same       uint64   `json:"same_pages"`
		Objects    uint64   `json:"objects"`
		Wrong      uint64   `json:"wrong"`
		WrongPages []uint64 `json:"wrong_pages"`
	} `json:"verify"`
}

// scrub runs zramfs verify and wants its exit code to agree with what it says.
func scrub(t *testing.T, dir string) verified {
	t.Helper()
	r := run(t, commandTimeout, "verify", "--json", dir)
	var v verified
	if err := json.Unmarshal([]byte(r.Stdout), &v); err != nil {
		t.Fatalf("verify: exit code %d: %v: %s%s", r.Code, err, r.Stdout, r.Stderr)
	}
	if want := min(int(v.Verify.Wrong), 1); r.Code != want || r.Stderr != "" {
		t.Errorf("verify: exit code %d, want %d: %s", r.Code, want, r.Stderr)
	}
	return v
}

// mixedDevice fills the beginning of a device with pages of all kinds, leaves some unwritten, and
// returns its contents.
func mixedDevice(t *testing.T, dir string, n int) []byte {
	t.Helper()
	want := make([]byte, statusOf(t, dir).Disksize)
	rng := rand.New(rand.NewPCG(21, 21))
	text, random := pages.Generate(pages.Text, n, 21), pages.Generate(pages.Random, n, 22)
	for i := range n {
		page := want[i*pageSize:][:pageSize]
		switch rng.IntN(6) {
		case 0:
			continue
		case 1:
			for j := range page {
				page[j] = byte(i)
			}
		case 2:
			copy(page, random[i])
		default:
			copy(page, text[i])
		}
		writePage(t, dir, i, page)
	}
	return want
}

// checkExports verifies and exports a device in every way.
func checkExports(t *testing.T, dir string) {
	t.Helper()
	const n = 6000
	want := mixedDevice(t, dir, n)
	before := statusOf(t, dir).Memory
	v := scrub(t, dir).Verify
	if v.Wrong != 0 || v.Pages != before.PagesStored || v.Same != before.SamePages || v.Objects+v.Same != v.Pages {
		t.Errorf("verify says %+v, status %+v", v, before)
	}
	file := filepath.Join(tempDir(t), "pages")
	for _, c := range []struct {
		flags        []string
		first, count int
	}{
		{nil, 0, len(want) / pageSize},
		{[]string{"--force", "--range", "0:1"}, 0, 1},
		{[]string{"--force", "--range", "777:4099"}, 777, 4099},
		{[]string{"--force", "--range", fmt.Sprintf("%d:100", n)}, n, 100}, // nothing
		{[]string{"--force", "--range", fmt.Sprintf("%d:1", len(want)/pageSize-1)}, len(want)/pageSize - 1, 1},
	} {
		mustRun(t, commandTimeout, append(append([]string{"export"}, c.flags...), dir, file)...)
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := difference(got, want[c.first*pageSize:(c.first+c.count)*pageSize], 0); err != nil {
			t.Errorf("export %v: %v", c.flags, err)
		}
	}
	after := statusOf(t, dir).Memory
	after.ReserveBytes, after.MemUsedTotal, after.MemUsedMax = before.ReserveBytes, before.MemUsedTotal, before.MemUsedMax // the reserve is filled behind the writes
	if after != before {
		t.Errorf("what is stored changed from %+v to %+v", before, after)
	}
	refuseExports(t, dir, file)
}

// refuseExports wants impossible exports to fail and to leave existing files.
func refuseExports(t *testing.T, dir, file string) {
	t.Helper()
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(file), "other")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{dir, file}, 1, "file already exists: --force replaces it"},
		{[]string{"--force", dir, filepath.Dir(file)}, 1, "not a regular file"},
		{[]string{dir, filepath.Join(file, "below")}, 1, "not a directory"},
		{[]string{"--range", "1000000:1", dir, other}, 2, "the device has"},
		{[]string{"--range", "1:18446744073709551615", dir, other}, 2, "the device has"},
		{[]string{filepath.Dir(dir), other}, 1, "no zramfs device at "},
	} {
		r := run(t, commandTimeout, append([]string{"export"}, c.args...)...)
		if r.Code != c.code || !strings.Contains(r.Stderr, c.want) || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("export %q: exit code %d: %q, want %d and %q", c.args, r.Code, r.Stderr, c.code, c.want)
		}
	}
	onlyFile(t, file)
	if is, err := os.ReadFile(file); err != nil || !bytes.Equal(is, was) {
		t.Errorf("%s has changed (%v)", file, err)
	}
}

// onlyFile wants the file to be the only one in its directory.
func onlyFile(t *testing.T, file string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(file) {
			t.Errorf("%s was left", e.Name())
		}
	}
}

// TestExport goes through every kind of page, on both kinds of memory.
func TestExport(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	for _, memory := range []string{"auto", "memfd"} {
		t.Run(memory, func(t *testing.T) { checkExports(t, mount(t, "--size", "64M", "--memory", memory)) })
	}
}

// TestUserNSExport needs no privilege.
func TestUserNSExport(t *testing.T) {
	if !inUserNS(t) {
		return
	}
	checkExports(t, mount(t, "--size", "64M", "-a", "zstd"))
}

// TestVerifyFindsDamage flips bits of objects: verify lists those pages, export makes no file, and
// all is well once they are whole again.
func TestVerifyFindsDamage(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	f, content := corruptible(t)
	memory, _ := image(t, f.pid)
	victims := []int{17, 301, 999}
	at := make([]int64, len(victims))
	for i, victim := range victims {
		at[i] = locate(t, memory, content[victim]) + int64(i)
	}
	flip := func() {
		for _, a := range at {
			mustFlip(t, memory, a)
		}
	}
	flip()
	v := scrub(t, f.dir).Verify
	if v.Wrong != 3 || fmt.Sprint(v.WrongPages) != fmt.Sprint(victims) {
		t.Errorf("verify says %+v", v)
	}
	file := filepath.Join(tempDir(t), "pages")
	if r := run(t, commandTimeout, "export", f.dir, file); r.Code != 1 || !strings.Contains(r.Stderr, "page 17 is damaged") {
		t.Errorf("export: exit code %d: %s", r.Code, r.Stderr)
	}
	onlyFile(t, file)
	mustRun(t, commandTimeout, "export", "--range", "18:200", f.dir, file) // there is none among these
	flip()
	if v := scrub(t, f.dir).Verify; v.Wrong != 0 || v.Pages != uint64(len(content)) {
		t.Errorf("verify says %+v", v)
	}
}

// TestVerifyUnderLoad verifies while the device is written, discarded and served by one worker
// after another: no page is called wrong.
func TestVerifyUnderLoad(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", crashSize)
	load := startVerifier(t, verifyOrder{Path: data(dir), Bytes: crashBytes, Threads: 4, Seed: 9})
	rounds, checked, end := 0, uint64(0), 6*time.Second
	if testing.Short() {
		end = 2 * time.Second
	}
	file := filepath.Join(tempDir(t), "pages")
	for began := time.Now(); time.Since(began) < end; rounds++ {
		v := scrub(t, dir).Verify
		if v.Wrong != 0 {
			t.Fatalf("verify says %+v", v)
		}
		checked += v.Pages
		mustRun(t, commandTimeout, "export", "--force", dir, file)
		if rounds == 2 {
			if err := unix.Kill(statusOf(t, dir).WorkerPID, unix.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	load.end(t)
	t.Logf("%d rounds, %d pages", rounds, checked)
}

// TestVerifyOfAStoppedWorker needs the keeper only.
func TestVerifyOfAStoppedWorker(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	if r := runCommand(t, commandTimeout, clientCommand(t.Context(), crashReader, data(dir), "write")); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	want := statusOf(t, dir)
	stopAll(t, want.WorkerPID)
	v := scrub(t, dir).Verify
	if err := unix.Kill(want.WorkerPID, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if v.Wrong != 0 || v.Pages != want.Memory.PagesStored || v.Pages == 0 {
		t.Errorf("verify says %+v, %d pages are stored", v, want.Memory.PagesStored)
	}
}

// stopAll stops a process and waits until all its threads have stopped: a thread that first took a
// request would keep the requesting process from ending.
func stopAll(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for end := time.Now().Add(answerTimeout); len(threads) > 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		threads = slices.DeleteFunc(threads, func(thread string) bool {
			id, _ := strconv.Atoi(filepath.Base(thread)) // the kernel's
			state, _, err := stateOf(id)
			return err != nil || state == "T"
		})
	}
	if len(threads) > 0 {
		t.Errorf("%v do not stop", threads)
	}
}

// TestExportInterrupted ends exports at some moments: either the file is there as a whole, or
// nothing is.
func TestExportInterrupted(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "256M")
	system(t, commandTimeout, "dd", "if=/dev/urandom", "of="+data(dir), "bs=1M", "count=200", "conv=notrunc", "status=none")
	ends := map[int]int{}
	file := filepath.Join(tempDir(t), "pages")
	for _, after := range []string{"0.003", "0.01", "0.02", "0.04", "0.08", "0.16"} {
		r := runCommand(t, commandTimeout, exec.Command("timeout", "--preserve-status", "-s", "INT", after, binary(t), "export", "--force", dir, file))
		ends[r.Code]++
		switch {
		case r.Code == 128+int(unix.SIGINT): // before the command catches it, which is before it begins
		case r.Code == 0, r.Code == 1 && strings.Contains(r.Stderr, "interrupted"):
			onlyFile(t, file)
		default:
			t.Errorf("after %s s: exit code %d: %s", after, r.Code, r.Stderr)
		}
	}
	t.Logf("exit codes %v", ends)
}

// TestExportKilled kills exports, which leave nothing where the file system has files without a
// name.
func TestExportKilled(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "256M")
	system(t, commandTimeout, "dd", "if=/dev/urandom", "of="+data(dir), "bs=1M", "count=200", "conv=notrunc", "status=none")
	file := filepath.Join(tempDir(t), "pages")
	fd, err := unix.Open(filepath.Dir(file), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	unnamed := err == nil
	if unnamed {
		err = unix.Close(fd)
	}
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		t.Fatal(err)
	}
	killed := 0
	for _, after := range []time.Duration{3, 10, 20, 40, 80, 160} {
		cmd := command(t, "export", dir, file)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after * time.Millisecond)
		_ = cmd.Process.Kill() // it may have ended
		if err := cmd.Wait(); err != nil {
			killed++
		}
		entries, err := os.ReadDir(filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if whole := e.Name() == filepath.Base(file); err != nil || whole && info.Size() != 256<<20 || !whole && unnamed {
				t.Errorf("after %v ms: %s was left, %+v, %v", int(after), e.Name(), info, err)
			}
			if err := os.Remove(filepath.Join(filepath.Dir(file), e.Name())); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("%d of 6 were killed, files without a name: %v", killed, unnamed)
	mustRun(t, commandTimeout, "export", dir, file)
}
