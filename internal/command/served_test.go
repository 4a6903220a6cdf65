// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/store"
)

// served makes a device for commands that run in this process, which starts itself as the program.
func served(t *testing.T) (dir string) {
	t.Helper()
	needServing(t)
	t.Setenv(asProgram, "1")
	dir = filepath.Join(t.TempDir(), "zram")
	succeeds(t, "mount --size 16M "+dir)
	t.Cleanup(func() { succeeds(t, "umount "+dir) })
	return dir
}

// needServing skips a test where this process cannot start itself as a device.
func needServing(t *testing.T) {
	t.Helper()
	require.Root(t)
	require.FUSE(t)
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	if memory.Kind() == store.MemoryHeap {
		t.Skip("the race detector's build has its images on the heap")
	}
}

// succeeds runs a command in this process, and returns what it prints.
func succeeds(t *testing.T, line string) string {
	t.Helper()
	var out, failed strings.Builder
	if code := run(append([]string{"zramfs"}, strings.Fields(line)...), &out, &failed); code != exitOK {
		t.Fatalf("%s: exit code %d, %s", line, code, failed.String())
	}
	return out.String()
}

// onServed are calls that print, for the device DIR and files in TMP.
var onServed = []string{
	"version", "version -J", "config show --config-root testdata/config/dropins", "config check --config-root testdata/config/dropins",
	"config check -J --config-root testdata/config/dropins", "metrics -J", "doctor", "doctor -J",
	"bench codec -t 0.001 -a raw -f TMP/file", "estimate -f TMP/file -a lz4", "estimate -J -f TMP/file -a lz4",
	"import TMP/file DIR", "import -J TMP/file DIR", "list", "list -J", "status DIR", "status -J DIR", "status", "top -b -d 0.1 -n 1 DIR", "top -b -J -d 0.1 -n 1 DIR",
	"trace DIR", "trace -J DIR", "events DIR", "events -J DIR", "set DIR", "compact DIR", "compact -J DIR", "idle DIR", "idle -J DIR", "idle --age 2s DIR",
	"recompress DIR", "recompress -J DIR",
	"verify DIR", "verify -J DIR", "export --force DIR TMP/pages", "export -J --force DIR TMP/pages", "export --range 1:2 --force DIR TMP/range",
	"snapshot save --force DIR TMP/snapshot", "snapshot save -J --force DIR TMP/snapshot", "snapshot inspect TMP/snapshot", "snapshot inspect -J TMP/snapshot",
	"snapshot restore --force TMP/snapshot DIR", "snapshot restore -J --force TMP/snapshot DIR", "upgrade DIR", "upgrade -J DIR",
	"up --all --config-root TMP/off", "trace -n 3 DIR",
}

// servedWords are the words of a call.
func servedWords(line, dir, tmp string) []string {
	return append([]string{"zramfs"}, strings.Fields(strings.NewReplacer("DIR", dir, "TMP", tmp, "NONE", tmp+"/none/zram").Replace(line))...)
}

// A command fails where any of its writes does.
func TestWritesFail(t *testing.T) {
	dir, tmp := served(t), t.TempDir()
	fill(t, filepath.Join(tmp, "file"))
	if err := os.Rename(writeConfig(t, "[zram0]\nzram-size = 0\n[zram1]\nzram-size = 0\n"), filepath.Join(tmp, "off")); err != nil {
		t.Fatal(err)
	}
	succeeds(t, "set "+dir+" recomp-algorithm=zstd(level=9)")
	writePages(t, dir) // for the trace
	for _, line := range onServed {
		for n := 0; ; n++ {
			out := &failingOnce{left: n}
			err := runApp(newApp(out, out), servedWords(line, dir, tmp))
			if out.left >= 0 {
				if n == 0 || errors.Is(err, syscall.ENOSPC) {
					t.Errorf("%s: %d writes, %v", line, n, err)
				}
				break
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s: where write %d fails: %v", line, n+1, err)
			}
		}
	}
}

// fill makes a file of 96 pages that compress.
func fill(t *testing.T, name string) {
	t.Helper()
	var text strings.Builder
	for i := range 96 {
		text.WriteString(strings.Repeat(string(rune('a'+i%20))+strings.Repeat("text ", i), 4096)[:pageSize])
	}
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A device is made and ended, or the write that failed is named and what was done is undone.
func TestMountWritesFail(t *testing.T) {
	needServing(t)
	t.Setenv(asProgram, "1")
	dir := filepath.Join(t.TempDir(), "zram")
	for _, flags := range []string{"", "--verbose ", "--json "} {
		for n := 0; ; n++ {
			out := &failingOnce{left: n}
			err := runApp(newApp(out, out), servedWords("mount -s 16M "+flags+"DIR", dir, ""))
			if out.left < 0 != errors.Is(err, syscall.ENOSPC) {
				t.Errorf("mount %s: where write %d fails: %v", flags, n+1, err)
			}
			if out.left >= 0 {
				break
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Fatalf("mount %s: where write %d fails the device stays: %v", flags, n+1, err)
			}
		}
		if err := runApp(newApp(failing{syscall.ENOSPC}, io.Discard), servedWords("umount -J DIR", dir, "")); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("umount: %v", err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Fatalf("umount leaves the device: %v", err)
		}
	}
}

// A device that is no swap is refused, and a wrong call names what is wrong.
func TestServedRefuses(t *testing.T) {
	dir, tmp := served(t), t.TempDir()
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"up DIR -s 16M", exitFailure, "DIR is mounted, but not used as swap"},
		{"mount DIR", exitFailure, "DIR"}, {"down -v -q DIR", exitUsage, "mutually exclusive"}, {"recompress DIR", exitFailure, "no algorithm is set"},
		{"snapshot restore TMP/none DIR", exitFailure, "no such file"}, {"snapshot inspect TMP/none", exitFailure, "no such file"},
		{"import TMP/none DIR", exitFailure, "no such file"}, {"import TMP DIR", exitFailure, "is not a regular file"}, {"export DIR TMP", exitFailure, "TMP"},
		{"export --range 9999999:1 DIR TMP/pages", exitUsage, "export DIR: "}, {"upgrade --binary TMP/none DIR", exitFailure, "upgrade DIR: "},
		{"set DIR mem-limit=x", exitUsage, "set: "}, {"set DIR algorithm=none", exitUsage, "unknown algorithm"}, {"idle --age 999ms DIR", exitUsage, "a second or more"},
		{"trace --perfetto TMP DIR", exitFailure, "write TMP: it is no regular file"},
		{"up NONE -s 16M", exitFailure, "its parent must exist"},
	} {
		var out, failed strings.Builder
		code := run(servedWords(c.line, dir, tmp), &out, &failed)
		text := strings.NewReplacer(dir, "DIR", tmp, "TMP").Replace(failed.String())
		if code != c.code || !strings.Contains(text, c.want) || strings.Count(text, "\n") != 1 || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %s%s; want %d, %s", c.line, code, out.String(), text, c.code, c.want)
		}
	}
}

// up --all says which device could not be made, and up refuses a user namespace.
func TestUpFails(t *testing.T) {
	root := writeConfig(t, "[zram0]\nsize = 16M\ndir = "+filepath.Join(t.TempDir(), "none", "zram")+"\n")
	var out, failed strings.Builder
	if code := run([]string{"zramfs", "up", "--all", "--config-root", root}, &out, &failed); code != exitFailure || !strings.Contains(failed.String(), "[zram0]: mount point ") {
		t.Errorf("exit code %d, %s", code, failed.String())
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "up", "/none/zram")
	cmd.Env, cmd.SysProcAttr, cmd.Dir = append(os.Environ(), asProgram+"=1"), require.UserNS(t), "/"
	if got := runCommand(t, cmd); got.code != exitFailure || !strings.Contains(got.stderr, "this is a user namespace") {
		t.Errorf("in a user namespace: %+v", got)
	}
}

// An interruption ends up --all: further sections are not tried.
func TestUpAllIsInterrupted(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	root := writeConfig(t, fmt.Sprintf("[zram0]\nsize = 16M\ndir = %s/a\n[zram1]\nsize = 16M\ndir = %[1]s/b\n", none))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := newApp(io.Discard, io.Discard).RunContext(ctx, []string{"zramfs", "up", "--all", "--config-root=" + root})
	if err == nil || !strings.HasPrefix(err.Error(), "[zram0]: interrupted") || strings.Contains(err.Error(), "zram1") {
		t.Error(err)
	}
}

// An interrupted command says so.
func TestInterrupted(t *testing.T) {
	dir, tmp := served(t), t.TempDir()
	fill(t, filepath.Join(tmp, "file"))
	succeeds(t, "import "+tmp+"/file "+dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, line := range []string{
		"verify DIR", "export DIR TMP/pages", "snapshot save DIR TMP/snapshot", "import TMP/file DIR",
		"compact DIR", "idle DIR",
	} {
		app := newApp(io.Discard, io.Discard)
		words, err := arrange(app, servedWords(line, dir, tmp))
		if err != nil {
			t.Fatal(err)
		}
		if err := app.RunContext(ctx, words); err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// follows runs a command that follows a device, with an output that takes some lines.
func follows(line string, takes int) (lines lineWriter, ended chan error) {
	lines, ended = make(lineWriter, 1000), make(chan error, 1)
	app := newApp(lines, io.Discard)
	if takes < cap(lines) {
		app.Writer = io.MultiWriter(lines, &failingOnce{left: takes})
	}
	go func() { ended <- runApp(app, append([]string{"zramfs"}, strings.Fields(line)...)) }()
	return lines, ended
}

// Following a device shows each event once, until the device ends.
func TestFollowsEvents(t *testing.T) {
	dir := served(t)
	lines, ended := follows("events --follow "+dir, 1000)
	var all []string
	for len(all) == 0 || !strings.Contains(all[len(all)-1], "upgraded") {
		if all = append(all, <-lines); len(all) == 1 {
			succeeds(t, "upgrade "+dir)
		}
	}
	succeeds(t, "umount "+dir)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(lines)
	for line := range lines {
		all = append(all, line)
	}
	if slices.Sort(all); len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("some events come twice: %q", all)
	}
	succeeds(t, "mount --size 16M "+dir)
}

// Following ends where the output takes no more: of what was there, or of what comes.
func TestFollowingFails(t *testing.T) {
	dir := served(t)
	writePages(t, dir)
	for line, takes := range map[string]int{"events": 0, "events --since 0s": 0, "trace -n 1": 0, "trace -n 1 -J": 1} {
		_, ended := follows(line+" --follow "+dir, takes)
		for n := 0; ; n++ {
			succeeds(t, "upgrade "+dir)
			writePages(t, dir)
			select {
			case err := <-ended:
				if !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("%s: %v", line, err)
				}
			default:
				if n < 100 {
					continue
				}
				t.Errorf("%s goes on", line)
			}
			break
		}
	}
}

// writePages writes four pages to a device.
func writePages(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, swapdev.DataFile), make([]byte, 4*pageSize), 0); err != nil {
		t.Fatal(err)
	}
}

// A device in the foreground that cannot be announced ends.
func TestForegroundToFullOutput(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := filepath.Join(t.TempDir(), "zram")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "mount", "--foreground", "-s", "16M", dir)
	cmd.Env, cmd.Stdout = append(os.Environ(), asProgram+"=1"), full
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) // it serves on
	err = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitFailure || !timer.Stop() {
		t.Errorf("exit code %d, %v, or it served on", code, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the device stays: %v", err)
	}
}

// lineWriter passes on what is written.
type lineWriter chan string

func (w lineWriter) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}
