// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// roundTrip exports a device, imports that to another one by another algorithm, over what that
// holds, and exports it again.
func roundTrip(t *testing.T, from, to string) {
	t.Helper()
	want := mixedDevice(t, from, 4000)
	file, again := filepath.Join(tempDir(t), "pages"), filepath.Join(tempDir(t), "again")
	mustRun(t, commandTimeout, "export", from, file)
	for i := range 500 { // to be gone afterwards
		writePage(t, to, i*9, want[4*pageSize:][:pageSize])
	}
	r := mustRun(t, commandTimeout, "import", file, to)
	if !strings.Contains(r.Stdout, " pages imported to "+to) {
		t.Errorf("it says %q", r.Stdout)
	}
	v, a, b := scrub(t, to).Verify, statusOf(t, from).Memory, statusOf(t, to).Memory
	if zeros := a.PagesStored - b.PagesStored; v.Wrong != 0 || zeros > 10 || a.SamePages-b.SamePages != zeros || v.Pages != b.PagesStored { // zeros are not stored
		t.Errorf("verify says %+v; status said %+v, and says %+v", v, a, b)
	}
	mustRun(t, commandTimeout, "export", to, again)
	got, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	if err := difference(got, want, 0); err != nil {
		t.Error(err)
	}
	whole, err := readRange(to, 0, 16<<20) // through the device as well
	if err != nil {
		t.Fatal(err)
	}
	if err := difference(whole, want[:16<<20], 0); err != nil {
		t.Error(err)
	}
}

// TestImport brings pages of every kind from one device to another.
func TestImport(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	for _, algorithm := range []string{"adaptive", "zstd", "page:dense", "raw"} {
		t.Run(algorithm, func(t *testing.T) {
			roundTrip(t, mount(t, "--size", "32M", "-a", "lz4"), mount(t, "--size", "32M", "-a", algorithm, "--memory", "memfd"))
		})
	}
}

// TestUserNSImport needs no privilege.
func TestUserNSImport(t *testing.T) {
	if !inUserNS(t) {
		return
	}
	roundTrip(t, mount(t, "--size", "32M"), mount(t, "--size", "64M"))
}

// TestImportRefused leaves the device as it was.
func TestImportRefused(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	dir := mount(t, "--size", "16M")
	want := mixedDevice(t, dir, 1000)
	in := tempDir(t)
	sizes := map[string]int64{"good": 1 << 20, "long": 16<<20 + pageSize, "odd": 1<<20 + 1, "empty": 0}
	for name, size := range sizes {
		if err := os.WriteFile(filepath.Join(in, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(want string, code int, args ...string) {
		t.Helper()
		r := run(t, commandTimeout, append([]string{"import"}, args...)...)
		if r.Code != code || !strings.Contains(r.Stderr, want) || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("import %q: exit code %d: %q, want %d and %q", args, r.Code, r.Stderr, code, want)
		}
	}
	refused(", and the device 16M", 1, filepath.Join(in, "long"), dir)
	refused("odd has 1048577 bytes, not a multiple of 4096: truncate -s %4096 "+filepath.Join(in, "odd")+" pads it", 1, filepath.Join(in, "odd"), dir)
	refused("empty is empty", 1, filepath.Join(in, "empty"), dir)
	refused("not a regular file", 1, in, dir)
	refused("no such file", 1, filepath.Join(in, "none"), dir)
	refused("no zramfs device at ", 1, filepath.Join(in, "good"), in)
	refused("name a FILE and a DIR", 2, filepath.Join(in, "good"))
	f := openData(t, dir, unix.O_DIRECT)
	refused("a process has its data file open", 1, filepath.Join(in, "good"), dir)
	got, err := readRange(dir, 0, len(want))
	if err != nil {
		t.Fatal(err)
	}
	if err := difference(got, want, 0); err != nil {
		t.Error(err)
	}
	mustRun(t, commandTimeout, "import", "--force", filepath.Join(in, "good"), dir)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	clear(want[:1<<20])
	if got, err = readRange(dir, 0, len(want)); err != nil {
		t.Fatal(err)
	}
	if err := difference(got, want, 0); err != nil {
		t.Error(err)
	}
}

// TestImportToLoop is refused even by force.
func TestImportToLoop(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	dir := mount(t, "--size", "16M")
	file := filepath.Join(tempDir(t), "pages")
	if err := os.WriteFile(file, make([]byte, pageSize), 0o600); err != nil {
		t.Fatal(err)
	}
	loop := attachments["loopsetup"](t, dir)
	if r := run(t, commandTimeout, "import", "--force", file, dir); r.Code != 1 || !strings.Contains(r.Stderr, loop+" is on it") {
		t.Errorf("exit code %d: %s", r.Code, r.Stderr)
	}
}

// TestImportIntoAFullStore says so, and what was imported is right.
func TestImportIntoAFullStore(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "64M", "-m", "16M")
	file := filepath.Join(tempDir(t), "pages")
	system(t, commandTimeout, "dd", "if=/dev/urandom", "of="+file, "bs=1M", "count=40", "status=none")
	r := run(t, commandTimeout, "import", file, dir)
	said := regexp.MustCompile(`pages before (\d+) are imported`).FindStringSubmatch(r.Stderr)
	if r.Code != 1 || !strings.Contains(r.Stderr, "store is full") || said == nil {
		t.Fatalf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	n, err := strconv.Atoi(said[1])
	if v := scrub(t, dir).Verify; err != nil || v.Wrong != 0 || n < 2000 || v.Pages < uint64(n) {
		t.Errorf("%q, %v; verify says %+v", said[0], err, v)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readRange(dir, 0, n*pageSize)
	if err != nil {
		t.Fatal(err)
	}
	if err := difference(got, want[:n*pageSize], 0); err != nil {
		t.Error(err)
	}
}

// TestImportWhileWorkersDie either succeeds or says that the worker has ended; the device goes on,
// and a further import succeeds.
func TestImportWhileWorkersDie(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "128M")
	file, again := filepath.Join(tempDir(t), "pages"), filepath.Join(tempDir(t), "again")
	system(t, commandTimeout, "dd", "if=/dev/urandom", "of="+file, "bs=1M", "count=128", "status=none")
	served := statusOf(t, dir)
	kill := time.AfterFunc(150*time.Millisecond, func() { _ = unix.Kill(served.WorkerPID, unix.SIGKILL) }) // it lives until the end of the test otherwise
	r := run(t, commandTimeout, "import", file, dir)
	kill.Stop()
	if r.Code != 0 && !strings.Contains(r.Stderr, "has ended the import") {
		t.Errorf("exit code %d: %s", r.Code, r.Stderr)
	}
	t.Logf("exit code %d: %s", r.Code, r.Stderr)
	mustRun(t, commandTimeout, "upgrade", dir)
	if v := scrub(t, dir).Verify; v.Wrong != 0 {
		t.Errorf("verify says %+v", v)
	}
	mustRun(t, commandTimeout, "import", file, dir)
	mustRun(t, commandTimeout, "export", dir, again)
	system(t, commandTimeout, "cmp", file, again)
}
