// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/notify"
	"github.com/zramfs/zramfs/internal/require"
)

// serviceManager reads what commands tell a service manager, until the test ends.
func serviceManager(t *testing.T) (environment []string, messages <-chan string) {
	t.Helper()
	name := filepath.Join(tempDir(t), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	all := make(chan string, 1000)
	go func() {
		for text := make([]byte, 4096); ; {
			n, err := c.Read(text) // descriptors that come with it are closed
			if err != nil {
				return
			}
			all <- string(text[:n])
		}
	}()
	return append(os.Environ(), notify.Variable+"="+name), all
}

// tells runs a command that has to succeed, and returns what it told the manager.
func tells(t *testing.T, environment []string, messages <-chan string, args ...string) (told []string) {
	t.Helper()
	cmd := command(t, args...)
	cmd.Env = environment
	if r := runCommand(t, downTimeout, cmd); r.Code != 0 {
		t.Fatalf("%q: exit code %d: %s%s", args, r.Code, r.Stdout, r.Stderr)
	}
	for {
		select {
		case m := <-messages:
			told = append(told, m)
		case <-time.After(time.Second / 2): // it lies in the socket since the command ended
			return told
		}
	}
}

// A service manager hears of the keeper once swap is on, and of it again from an up that finds the
// device.
func TestSwapManagerIsTold(t *testing.T) {
	require.FUSE(t)
	require.Loop(t)
	dir := swapDir(t)
	environment, messages := serviceManager(t)
	for range 2 {
		told := tells(t, environment, messages, "up", "--size", "512M", "--devices", "1", "--slots", "keep", dir)
		area := oneSwap(t, dir)
		want := fmt.Sprintf("MAINPID=%d\nREADY=1\nSTATUS=512M of swap at %s, priority 100", serverOf(t, dir), area.Path)
		if len(told) != 2 || told[0] != want || told[1] != "BARRIER=1" {
			t.Errorf("up told %q, want %q", told, want)
		}
	}
	if told := tells(t, environment, messages, "down", dir); len(told) != 1 || told[0] != "STOPPING=1\nSTATUS=turning swap off" {
		t.Errorf("down told %q", told)
	}
	wantNothingLeft(t, dir)
}

// A manager whose socket is gone keeps no swap on.
func TestSwapDownWithoutManager(t *testing.T) {
	require.FUSE(t)
	require.Loop(t)
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "256M", "--devices", "1", "--slots", "keep", dir)
	cmd := command(t, "down", dir)
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+filepath.Join(dir, "absent"))
	if r := runCommand(t, downTimeout, cmd); r.Code != 0 {
		t.Errorf("%+v", r)
	}
	wantNothingLeft(t, dir)
}

// A mount without swap is a service too.
func TestManagerIsToldOfMount(t *testing.T) {
	require.FUSE(t)
	require.Root(t)
	dir := tempDir(t)
	t.Cleanup(func() { takeDown(t, dir) })
	environment, messages := serviceManager(t)
	told := tells(t, environment, messages, "mount", "--size", "16M", dir)
	if want := fmt.Sprintf("MAINPID=%d\nREADY=1\nSTATUS=16M at %s", serverOf(t, dir), data(dir)); len(told) == 0 || told[0] != want {
		t.Errorf("mount told %q, want %q", told, want)
	}
	if told := tells(t, environment, messages, "down", dir); len(told) == 0 || !strings.HasPrefix(told[0], "STOPPING=1\n") {
		t.Errorf("down told %q", told)
	}
}

// While another process turns an area off, as systemd does at shutdown, down waits for it.
func TestSwapDownBesideSwapoff(t *testing.T) {
	require.FUSE(t)
	require.Loop(t)
	require.Command(t, "swapoff")
	m := startMemory(t, memoryOrder{Pages: 400 << 20 / memoryPage, Source: sourceMix})
	m.do(t, "fill")
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "512M", "--devices", "1", "--slots", "keep", dir)
	m.do(t, "pageout")
	area := oneSwap(t, dir)
	other := make(chan result, 1)
	go func() {
		cmd := exec.Command("swapoff", area.Path)
		err := inTime(cmd, downTimeout)
		other <- result{Code: cmd.ProcessState.ExitCode(), Stderr: fmt.Sprint(err)}
	}()
	for end := time.Now().Add(answerTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if on, err := swapOn(dir); err == nil && (len(on) == 0 || on[0].Used < area.Used) {
			break
		}
	}
	down := mustRun(t, downTimeout, "down", "-v", dir)
	if r := <-other; r.Code != 0 {
		t.Errorf("swapoff: %+v", r)
	}
	if !strings.Contains(down.Stdout, " off, ") {
		t.Log("swapoff was faster: nothing to wait for")
	}
	wantNothingLeft(t, dir)
	m.do(t, "walk")
	m.end(t)
}
