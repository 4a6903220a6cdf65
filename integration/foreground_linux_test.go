// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A foreground is a program that serves in the foreground.
type foreground struct {
	dir   string
	pid   int
	log   *logBook
	ended chan struct{} // closed when the process has ended
	err   error         // of Wait; may be read once ended is closed
}

// serve starts zramfs mount --foreground with these flags on dir, and returns
// when the device can be opened. When the test ends it is unmounted, if it still
// runs, and has to exit with 0.
func serve(t testing.TB, dir string, flags ...string) *foreground {
	t.Helper()
	f := startServe(t, dir, flags...)
	t.Cleanup(func() { f.end(t) })
	return f
}

// startServe is serve for a test that ends the process, however it does.
func startServe(t testing.TB, dir string, flags ...string) *foreground {
	t.Helper()
	cmd := exec.Command(binary(t), append(append([]string{"mount", "--foreground"}, flags...), dir)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f := &foreground{dir: dir, pid: cmd.Process.Pid, log: &logBook{}, ended: make(chan struct{})}
	first := make(chan string, 1)
	go func() {
		var readers sync.WaitGroup
		readers.Go(func() { f.log.readFrom(stderr) })
		readers.Go(func() { firstLine(stdout, first) })
		readers.Wait()
		f.err = cmd.Wait()
		close(f.ended)
	}()
	select {
	case line := <-first:
		if line != data(dir) {
			t.Fatalf("standard output is %q, want the device's path\n%s", line, f.log)
		}
	case <-time.After(commandTimeout):
		t.Fatalf("no device after %s\n%s", commandTimeout, f.log)
	}
	return f
}

// firstLine sends the first line, empty where there is none, and reads the rest.
func firstLine(r io.Reader, first chan<- string) {
	lines := bufio.NewReader(r)
	line, _ := lines.ReadString('\n') // the end of the output is an answer too
	first <- strings.TrimSuffix(line, "\n")
	_, _ = io.Copy(io.Discard, lines)
}

// end unmounts the device, if it is still there, and checks how the process ends.
func (f *foreground) end(t testing.TB) {
	t.Helper()
	defer f.kill(t)
	takeDown(t, f.dir)
	if !f.waitEnd() {
		t.Errorf("process %d lives on\n%s", f.pid, f.log)
		return
	}
	if f.err != nil {
		t.Errorf("it ended with %v\n%s", f.err, f.log)
	}
}

// waitEnd waits for the end of the process and reports whether it came.
func (f *foreground) waitEnd() bool {
	select {
	case <-f.ended:
		return true
	case <-time.After(commandTimeout):
		return false
	}
}

func (f *foreground) kill(t testing.TB) {
	select {
	case <-f.ended:
	default:
		if err := unix.Kill(f.pid, unix.SIGKILL); err != nil {
			t.Errorf("kill %d: %v", f.pid, err)
		}
		<-f.ended
	}
}

func (f *foreground) signal(t testing.TB, s unix.Signal) {
	t.Helper()
	if err := unix.Kill(f.pid, s); err != nil {
		t.Fatalf("send %v: %v", s, err)
	}
}

// A logBook collects what a process writes to its standard error.
type logBook struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (l *logBook) readFrom(r io.Reader) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		l.mu.Lock()
		fmt.Fprintln(&l.text, lines.Text())
		l.mu.Unlock()
	}
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// wait waits until the log holds text.
func (l *logBook) wait(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(answerTimeout); !strings.Contains(l.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log has no %q:\n%s", text, l)
		}
	}
}

// image opens the file that holds the image of a serving process, for reading
// and writing, and says what it is: "memfd" or "tmpfs".
func image(t testing.TB, pid int) (f *os.File, kind string) {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		target, err := os.Readlink(name)
		if err != nil {
			continue // closed since
		}
		kind = map[string]string{"/memfd:zramfs (deleted)": "memfd", "/image": "tmpfs"}[target]
		if kind == "" {
			continue
		}
		if f, err = os.OpenFile(name, os.O_RDWR, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
		return f, kind
	}
	t.Fatalf("process %d has no image open", pid)
	return nil, ""
}
