// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/term"
)

// topCommand prepares top for a terminal.
func topCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, append([]string{"top"}, args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	return cmd
}

// deviceFigures are figures of a swap device in status -J.
type deviceFigures struct {
	Swap   struct{ Used, Size uint64 }
	Usage  struct{ Saved int64 }
	Status struct {
		Restarts int
		Memory   struct {
			Stored uint64 `json:"orig_data_size"`
			Used   uint64 `json:"mem_used_total"`
		}
	}
}

// figuresOf reads the figures of a device.
func figuresOf(t *testing.T, dir string) deviceFigures {
	t.Helper()
	var all struct {
		Schema int
		Zramfs []deviceFigures
	}
	r := run(t, commandTimeout, "status", "-J", dir)
	if err := json.Unmarshal([]byte(r.Stdout), &all); err != nil || len(all.Zramfs) != 1 || all.Schema != 1 {
		t.Fatalf("status -J: %v\n%s%s", err, r.Stdout, r.Stderr)
	}
	return all.Zramfs[0]
}

// A device in use is on the screen, with the figures of status -J and the process that has its
// memory in swap; page faults move the rates. The screen follows the size of the terminal, and at
// its end, by q or by SIGTERM, the terminal is as it was. stats and who have the same figures.
func TestSwapTopOnATerminal(t *testing.T) {
	require.Root(t)
	group := memoryGroup(t, "top", 512<<20)
	m := startMemory(t, memoryOrder{Pages: prefetchPages, Source: realSource(t), Group: group})
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "1G", "--slots", "keep", dir)
	m.do(t, "fill")
	pageOut(t, m)
	limitGroup(t, group, 64<<20)
	limitGroup(t, group, 512<<20)

	cmd := topCommand(t, "--interval", "0.5", dir)
	screen := onTerminal(t, cmd, 100, 30)
	pid := strconv.Itoa(m.cmd.Process.Pid)
	screen.until(t, "the process in swap", func(text string) bool { return regexp.MustCompile(`(?m)^ *` + pid + ` +\d`).MatchString(text) })
	wantFiguresOf(t, screen, dir)
	wantLines(t, dir)
	m.do(t, "walk") // brings pages back
	text := screen.until(t, "pages that come back", func(text string) bool {
		return regexp.MustCompile(`(?m)^in .* [1-9][\d,]* pages/s +p50 [\d.]+ [mu]s +p99 [\d.]+ [mu]s$`).MatchString(text)
	})
	t.Logf("100x30:\n%s", text)
	for end := time.Now().Add(15 * time.Second); os.Getenv(pictureVariable) != "" && time.Now().Before(end); { // a history to look at
		pageOut(t, m)
		m.do(t, "random")
	}
	drawPicture(t, screen, dir)

	screen.resize(t, 60, 14)
	screen.until(t, "the footer of a smaller screen", func(text string) bool {
		return strings.HasPrefix(strings.Split(text, "\n")[13], "q quit")
	})
	pageOut(t, m) // the walk has brought back all
	screen.press(t, "w")
	screen.until(t, "all processes", func(text string) bool { return regexp.MustCompile(`(?m)^ *` + pid + ` +\d`).MatchString(text) })
	screen.press(t, "q")
	screen.wantGivenBack(t, cmd)

	cmd = topCommand(t)
	screen = onTerminal(t, cmd, 80, 24)
	screen.until(t, "the device", func(text string) bool { return strings.Contains(text, "pages/s") })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	screen.wantGivenBack(t, cmd)
	liftLimit(t, group)
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	m.end(t)
}

// wantFiguresOf wants the screen to show what status says at the same time.
func wantFiguresOf(t *testing.T, screen *terminal, dir string) {
	t.Helper()
	screen.until(t, "the figures of status -J", func(text string) bool {
		f := figuresOf(t, dir)
		for _, want := range []string{
			fmt.Sprintf("%s of %s  %s", term.Size(f.Swap.Used), term.Size(f.Swap.Size), term.Share(f.Swap.Used, f.Swap.Size)),
			fmt.Sprintf("%s for %s", term.Size(f.Status.Memory.Used), term.Size(f.Status.Memory.Stored)),
			"saved    " + term.Size(uint64(max(f.Usage.Saved, 0))),
			term.Ratio(float64(f.Status.Memory.Stored) / float64(f.Status.Memory.Used)),
			fmt.Sprintf("restarts %d  errors 0", f.Status.Restarts),
		} {
			if !strings.Contains(text, want) {
				return false
			}
		}
		return f.Swap.Used > 100<<20
	})
}

// wantLines wants the figures of status in the lines of top -b.
func wantLines(t *testing.T, dir string) {
	t.Helper()
	var line struct {
		Schema   int
		Dir      string
		SwapUsed uint64 `json:"swap_used"`
		Stored   uint64 `json:"orig_data_size"`
		Seconds  float64
	}
	r := mustRun(t, commandTimeout, "top", "-b", "-J", "-d", "0.2", "-n", "2", dir)
	lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
	err := json.Unmarshal([]byte(lines[len(lines)-1]), &line)
	f := figuresOf(t, dir)
	near := func(a, b uint64) bool { return max(a, b)-min(a, b) <= max(a, b)/10 }
	if err != nil || len(lines) != 2 || line.Schema != 1 || line.Dir != dir || !near(line.SwapUsed, f.Swap.Used) ||
		!near(line.Stored, f.Status.Memory.Stored) || line.Seconds < 0.1 || line.Seconds > 10 {
		t.Errorf("top -b -J prints %s: %v; status has %+v", r.Stdout, err, f)
	}
	if r := mustRun(t, commandTimeout, "top", "-b", "-n", "1", dir); strings.Count(r.Stdout, "\n") != 2 || !strings.Contains(r.Stdout, " healthy "+dir) {
		t.Errorf("top -b prints\n%s", r.Stdout)
	}
}

// top -b ends quietly when the program that reads its lines ends.
func TestTopEndsWithItsReader(t *testing.T) {
	dir := mount(t, "--size", "16M")
	cmd := command(t, "top", "-b", "-d", "0.1", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(answerTimeout, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // SIGPIPE ends it, as it does any program
	state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !state.Signaled() || state.Signal() != syscall.SIGPIPE || stderr.Len() > 0 {
		t.Errorf("it ends with %v and says %q", cmd.ProcessState, stderr.String())
	}
}
