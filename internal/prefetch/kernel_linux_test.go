// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/memproc"
	"github.com/zramfs/zramfs/internal/procpages"
	"github.com/zramfs/zramfs/internal/require"
)

const refused = "PREFETCH_TEST_REFUSED"

func TestMain(m *testing.M) {
	memproc.Main()
	os.Exit(m.Run())
}

// opened returns an open process, which the end of the test closes.
func opened(t *testing.T, pid int) *process {
	t.Helper()
	p := newProcess()
	if err := p.open(pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Addresses that the process has not mapped, or no longer, are no obstacle to those behind them.
func TestUnmappedPagesAreLeftOut(t *testing.T) {
	require.Root(t)
	pid, _ := memproc.Start(t)
	p := opened(t, pid)
	runs := []procpages.Run{{First: page, Pages: 2}, {First: 1 << 46, Pages: 3}, {First: 3 << 45, Pages: 1}}
	if err := errors.Join(p.ask(runs), p.look(runs)); err != nil {
		t.Error(err)
	}
}

func TestEndedProcessIsTold(t *testing.T) {
	require.Root(t)
	pid, end := memproc.Start(t)
	p := opened(t, pid)
	end()
	runs := []procpages.Run{{First: page, Pages: 2}}
	if err := p.ask(runs); !errors.Is(err, procpages.ErrGone) {
		t.Errorf("ask: %v", err)
	}
	if err := p.look(runs); !errors.Is(err, procpages.ErrGone) {
		t.Errorf("look: %v", err)
	}
	if err := newProcess().open(pid); !errors.Is(err, procpages.ErrGone) {
		t.Errorf("open: %v", err)
	}
}

// Another user's process is refused with the capabilities that are missing.
func TestAnotherUsersProcess(t *testing.T) {
	require.Root(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestRefused$", "-test.v")
	cmd.Env = append(os.Environ(), refused+"="+strconv.Itoa(os.Getpid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestRefused is run by TestAnotherUsersProcess.
func TestRefused(t *testing.T) {
	pid, err := strconv.Atoi(os.Getenv(refused))
	if err != nil {
		t.Skip("only as another user")
	}
	p := opened(t, pid)
	runs := []procpages.Run{{First: 1 << 46, Pages: 1}}
	if err := p.ask(runs); !errors.Is(err, ErrPermission) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("ask: %v", err)
	}
	if err := p.look(runs); !errors.Is(err, ErrPermission) {
		t.Errorf("look: %v", err)
	}
	w := &work{process: newProcess(), bounds: grouped(t)}
	root := newTarget(pid, "/cg", runs)
	if stop, err := w.fetch(t.Context(), root); stop != Refused || err != nil || root.asked != 0 {
		t.Errorf("among others: %q, %d pages asked for, %v; want %q", stop, root.asked, err, Refused)
	}
	w.Named = true
	if _, err := w.fetch(t.Context(), newTarget(pid, "/cg", runs)); !errors.Is(err, ErrPermission) {
		t.Errorf("named: %v, want %v", err, ErrPermission)
	}
	if err := w.process.close(); err != nil {
		t.Error(err)
	}
}

// The number of a thread is told as such, and not as a kernel without the call.
func TestThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	other := make(chan int)
	go func() { // runs in another thread than this one
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		other <- unix.Gettid()
		other <- 0
	}()
	for _, tid := range []int{unix.Gettid(), <-other} {
		if err := newProcess().open(tid); tid != os.Getpid() && (err == nil || errors.Is(err, ErrKernel) || !strings.Contains(err.Error(), "is a thread")) {
			t.Errorf("%d: %v", tid, err)
		}
	}
	<-other
}

// A process that serves swap is left out, and is an error if it was named.
func TestServingProcess(t *testing.T) {
	name, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{PIDs: []int{os.Getpid()}, Serving: []string{"other", strings.TrimSpace(string(name))}, DryRun: true}
	if r, err := Run(t.Context(), o); err != nil || !slices.Equal(r.Skipped, []Count{{Serving, 1}}) || r.Incomplete() {
		t.Errorf("%+v, %v; want one skipped", r, err)
	}
	o.Named = true
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "serves swap") {
		t.Errorf("named: %v", err)
	}
}

func TestBehind(t *testing.T) {
	parts := []unix.RemoteIovec{{Base: 0, Len: 2 * page}, {Base: 10 * page, Len: page}}
	for done, want := range map[int][]unix.RemoteIovec{
		0: parts, 2 * page: parts[1:], 3 * page: {}, page: {{Base: page, Len: page}, parts[1]},
	} {
		if got := behind(slices.Clone(parts), done); !slices.Equal(got, want) {
			t.Errorf("behind %d: %v, want %v", done, got, want)
		}
	}
}

// A process without anything in swap is no error; a PID of no process is one, if it was named.
func TestRunHere(t *testing.T) {
	pid, end := memproc.Start(t)
	r, err := Run(t.Context(), Options{PIDs: []int{pid}, Named: true, DryRun: true})
	if err != nil || r.Incomplete() || !r.DryRun {
		t.Errorf("%+v, %v", r, err)
	}
	if r.Found == 0 && r.Text() != "nothing is in swap\n" {
		t.Errorf("%q", r.Text())
	}
	end()
	if _, err := Run(t.Context(), Options{PIDs: []int{pid}, Named: true}); err == nil || !strings.Contains(err.Error(), "no process") {
		t.Errorf("an ended process: %v", err)
	}
	r, err = Run(t.Context(), Options{PIDs: []int{pid, os.Getpid()}, DryRun: true})
	if err != nil || !slices.Equal(r.Skipped, []Count{{Ended, 1}}) {
		t.Errorf("%+v, %v; want one skipped", r, err)
	}
}
