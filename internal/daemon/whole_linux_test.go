// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/idlework"
	"github.com/zramfs/zramfs/internal/pmqos"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/store"
)

// wholeConfig is that of a keeper or worker that was started with a word, the directory and the
// size of the device.
func wholeConfig() (cfg Config, err error) {
	cfg = Config{
		Config: zramfsd.Config{
			Dir: os.Args[2], Memory: store.MemoryMemfd, Foreground: true, MemLimit: 8 << 20, CreatedDir: true,
			Latency: pmqos.Low, Cold: idlework.Default, Scrub: time.Hour, SpillDaily: 1 << 30,
		},
		Version:    "1.2",
		WorkArgs:   func(c zramfsd.Config) []string { return []string{"work", c.Dir, fmt.Sprint(c.Disksize)} },
		DeviceArgs: func(c zramfsd.Config) []string { return []string{"keep", c.Dir, fmt.Sprint(c.Disksize)} },
		Early:      []status.Protection{{Name: status.NameIOFlusher, State: status.OK}},
		OnEnd: func(w io.Writer) error {
			_, err := fmt.Fprintln(w, "  ended \t well")
			return errors.Join(err, refusedAt("end"))
		},
		OnReady: func(*status.Report) error { return refusedAt("ready") },
	}
	_, serr := fmt.Sscan(os.Args[3], &cfg.Disksize)
	cfg.Algorithm, err = codec.Parse("lz4")
	return cfg, errors.Join(err, serr)
}

// refusedAt fails where the environment says so.
func refusedAt(what string) error {
	if os.Getenv("ZRAMFS_TEST_REFUSE") == what {
		return errors.New("refused")
	}
	return nil
}

func childKeep() error {
	cfg, err := wholeConfig()
	if err == nil {
		cfg.CreatedDir = !strings.Contains(cfg.Dir, "/devices/") // that is a part of the attributes
		err = Run(context.Background(), cfg, os.NewFile(zramfsd.ReadyFD, "ready"))
	}
	whatIsLeft("keeper")
	return err
}

func childWork() error {
	cfg, err := wholeConfig()
	if err == nil {
		err = Work(cfg)
	}
	whatIsLeft("worker")
	return err
}

// whatIsLeft says on standard error what a process has not taken apart: goroutines, memory files
// and descriptors.
func whatIsLeft(who string) {
	from := orderFD
	if who == "worker" {
		from = locksFD + 1 // it was started with the others
	}
	for _, l := range append(goesOn(), leftOpen(from)...) {
		fmt.Fprintf(os.Stderr, "left in the %s: %s\n", who, strings.ReplaceAll(strings.TrimSpace(l), "\n", " | "))
	}
}

// goesOn are the goroutines of the program that have not ended after a while, but for those that
// receive orders and for tests.
func goesOn() (left []string) {
	stacks := make([]byte, 1<<20)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) { // they end a moment after they have answered
		left = nil
		for i, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			ours := strings.Contains(stack, "github.com/zramfs/") && !strings.Contains(stack, "daemon.receive[") && !strings.Contains(stack, "testing.tRunner")
			if i > 0 && ours { // the first is this one
				left = append(left, stack)
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// leftOpen are mappings of memory files and, from a number on, descriptors of such files, of
// connections with the kernel, of sockets and of the program, which goroutines may close a moment
// later.
func leftOpen(from int) (left []string) {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if left = openNow(from); len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

func openNow(from int) (left []string) {
	maps, err := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "/memfd:") {
			left = append(left, line)
		}
	}
	program, perr := os.Readlink("/proc/self/exe")
	for fd := from; fd < 1024; fd++ {
		to, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if to == program || strings.HasPrefix(to, "/memfd:") || to == "/dev/fuse" || strings.HasPrefix(to, "socket:") {
			left = append(left, fmt.Sprintf("%d: %s", fd, to))
		}
	}
	if err = errors.Join(err, perr); err != nil {
		left = append(left, err.Error())
	}
	return left
}

// A whole is a device with its processes. Both log to one pipe.
type whole struct {
	t     *testing.T
	dir   string
	cmd   *exec.Cmd
	ready *os.File      // the announcement
	ended chan struct{} // closed when no process has the pipe

	mu    sync.Mutex
	lines []string // guarded by mu
}

// alone has a test run in a process and a mount namespace of its own, which no other process copies
// while a device is mounted there. It reports whether that is where the caller is. The first
// descriptors there are taken by files.
func alone(t *testing.T, files ...*os.File) bool {
	t.Helper()
	const variable = "ZRAMFS_TEST_ALONE"
	if os.Getenv(variable) != "" {
		return true
	}
	require.Root(t)
	needMemoryFiles(t)
	t.Parallel() // with other processes, once the tests of this one are over
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.ExtraFiles = files
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), variable+"=1"), require.MountNS(t)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// startWhole starts a keeper, which announces its device.
func startWhole(t *testing.T, environment ...string) *whole {
	t.Helper()
	w := &whole{t: t, dir: filepath.Join(t.TempDir(), "zram"), ended: make(chan struct{})}
	ready, announces, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	said, says, err := os.Pipe()
	if err := errors.Join(err, os.Mkdir(w.dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	w.ready = ready
	w.cmd = exec.Command("/proc/self/exe", "keep", w.dir, "1048576")
	w.cmd.Env, w.cmd.Stderr, w.cmd.ExtraFiles = append(os.Environ(), environment...), says, []*os.File{announces}
	if err := errors.Join(w.cmd.Start(), announces.Close(), says.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // it has ended, as a rule
		_ = unix.Unmount(w.dir, unix.MNT_DETACH)
		_, _ = w.cmd.Process.Wait()
		_ = errors.Join(ready.Close(), said.Close()) // only read from
	})
	go func() {
		defer close(w.ended)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			w.mu.Lock()
			w.lines = append(w.lines, changing.ReplaceAllString(strings.ReplaceAll(lines.Text(), w.dir, "DIR"), "$1=N"))
			w.mu.Unlock()
		}
	}()
	return w
}

// changing are the parts of lines that are others each time.
var changing = regexp.MustCompile(`\b(pid|time|without_service)=\S+`)

// needMemoryFiles skips a test where images lie on the heap.
func needMemoryFiles(t *testing.T) {
	t.Helper()
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	if memory.File() == nil {
		t.Skip("the race detector's build has its images on the heap")
	}
}

// said is all that was logged, without what changes, without lines about other mount namespaces,
// which come where the machine is slow, and without the rights that the process lacks here.
func (w *whole) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := slices.DeleteFunc(slices.Clone(w.lines), func(l string) bool {
		return strings.Contains(l, "other mount namespaces") || strings.Contains(l, `msg="not protected"`)
	})
	return strings.ReplaceAll(strings.Join(lines, "\n"), "time=N ", "") + "\n"
}

// until waits for something to be.
func (w *whole) until(what string, is func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("still not: %s\n%s", what, w.said())
		}
	}
}

// untilSaid waits for a line, the n-th of its kind.
func (w *whole) untilSaid(line string, n int) {
	w.t.Helper()
	w.until(line, func() bool { return strings.Count(w.said(), line) >= n })
}

// end waits until keeper and worker have ended, and demands how and that nothing is left.
func (w *whole) end(code int, want string) {
	w.t.Helper()
	select {
	case <-w.ended:
	case <-time.After(time.Minute):
		w.t.Fatalf("it goes on\n%s", w.said())
	}
	state, err := w.cmd.Process.Wait()
	if err != nil || state.ExitCode() != code {
		w.t.Errorf("the keeper ended with %v, %v, want %d", state, err, code)
	}
	if got := w.said(); got != want {
		w.t.Errorf("they said\n%swant\n%s", got, want)
	}
}

func (w *whole) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0); err != nil {
		w.t.Errorf("write %q to %s: %v", text, name, err)
	}
}

func (w *whole) status() (s status.Status) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "control/status"))
	if err = errors.Join(err, json.Unmarshal(text, &s)); err != nil {
		w.t.Fatalf("status: %v\n%s", err, w.said())
	}
	return s
}

func (w *whole) kill(pid int, s unix.Signal) {
	w.t.Helper()
	if pid <= 1 { // which stands for all that this test runs in
		w.t.Fatalf("a status has process %d", pid)
	}
	if err := unix.Kill(pid, s); err != nil {
		w.t.Fatal(err)
	}
}
