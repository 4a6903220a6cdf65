// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

const (
	// stuckAfter is how long a task may wait in state D without having run.
	stuckAfter = 2 * time.Second
	watchEvery = 200 * time.Millisecond
)

// watcherPart is the client that looks for tasks of any process that wait where no
// signal reaches them. It is locked in memory, so that it does not wait with them.
// It prints a line when it is ready, what it finds, and how much it has looked.
var watcherPart = register("watcher", func([]string) error {
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE); err != nil {
		return fmt.Errorf("lock memory: %w", err)
	}
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	w := watcher{waits: map[string]*wait{}}
	w.scan(time.Now())
	for _, each := range w.waits {
		each.told = true // it waited before
	}
	fmt.Println(guardReady)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			w.scan(now)
		case <-over:
			fmt.Printf("watched %d tasks %d times; the longest wait was under %v\n", w.tasks, w.scans, (w.longest + watchEvery).Round(watchEvery))
			return nil
		}
	}
})

// A watcher knows the tasks that were in state D at its last look.
type watcher struct {
	waits        map[string]*wait // by directory of the task
	scans, tasks int
	longest      time.Duration
}

// A wait is one that has not ended since a look.
type wait struct {
	since    time.Time
	switches string // how often the task had been switched to then
	told     bool
}

func (w *watcher) scan(now time.Time) {
	w.scans++
	names, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*") // the pattern is good
	w.tasks = len(names)
	still := map[string]*wait{}
	for _, dir := range names {
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil || !bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" D")) {
			continue // it has ended, or does not wait like that
		}
		switches := switchesOf(dir)
		before := w.waits[dir]
		if before == nil || before.switches != switches {
			before = &wait{since: now, switches: switches}
		}
		still[dir] = before
		took := now.Sub(before.since)
		if !before.told {
			w.longest = max(w.longest, took)
		}
		if took > stuckAfter && !before.told {
			before.told = true
			tell(dir, stat, took)
		}
	}
	w.waits = still
}

// switchesOf returns the lines that count how often a task was switched to.
func switchesOf(dir string) string {
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return err.Error()
	}
	_, counts, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
	return counts
}

func tell(dir string, stat []byte, took time.Duration) {
	where, _ := os.ReadFile(dir + "/wchan")
	stack, _ := os.ReadFile(dir + "/stack") // a user without the right to it sees the rest
	name := stat[:bytes.LastIndexByte(stat, ')')+1]
	fmt.Printf("stuck: %s/ %s has waited for %v in %s: %s\n", dir, name, took.Round(watchEvery), where, strconv.Quote(string(stack)))
}

// startPiped starts a command and returns the other ends of its standard input and output.
func startPiped(t testing.TB, cmd *exec.Cmd) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return in, out
}

// watch looks for stuck tasks until stop is called, which returns a line for each.
func watch(t testing.TB) (stop func() (stuck []string)) {
	t.Helper()
	cmd := clientCommand(t.Context(), watcherPart)
	cmd.Stderr = os.Stderr
	in, out := startPiped(t, cmd)
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Wait() // the end of the test has killed it
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != guardReady {
		t.Fatalf("the watcher is not ready: %q, %v", lines.Text(), cmd.Wait())
	}
	return func() (stuck []string) {
		t.Helper()
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "stuck: ") {
				stuck = append(stuck, lines.Text())
			} else {
				t.Log(lines.Text())
			}
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		return stuck
	}
}

// TestWatcherNoticesWhoIsStuck lets a process wait for a loop device whose server was stopped.
func TestWatcherNoticesWhoIsStuck(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	dir := mount(t, "--size", "16M")
	loop := attachments["loopsetup"](t, dir)
	pid := statusOf(t, dir).WorkerPID
	stop := watch(t)
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	v := startVerifier(t, verifyOrder{Path: loop, Bytes: 1 << 20, Threads: 1, Seed: 6})
	time.Sleep(stuckAfter + time.Second)
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	v.end(t)
	mine := fmt.Sprintf("/proc/%d/", v.cmd.Process.Pid)
	if stuck := stop(); !slices.ContainsFunc(stuck, func(line string) bool { return strings.Contains(line, mine) }) {
		t.Errorf("it noticed %q, and not %s", stuck, mine)
	}
}
