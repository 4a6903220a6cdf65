// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
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
	if err := p.ask(runs); err != nil {
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
	root := newTarget(pid, "/cg", runs)
	if more, err := grouped(t).fetch(t.Context(), root); !more || err != nil || root.asked != 0 {
		t.Errorf("%d pages asked for, more is %t, %v", root.asked, more, err)
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
