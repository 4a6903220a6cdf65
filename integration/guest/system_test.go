// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/integration/guest/boot"
	"github.com/zramfs/zramfs/internal/require"
)

const (
	// systemMemory of a machine with a whole Debian, in MiB.
	systemMemory = 320
	// systemDir is where services have their device.
	systemDir = "/run/zram"
	// fillLog is where a program that fills memory says what it does.
	fillLog = "/run/fill.log"
	// endTime bounds a shutdown that waits a minute for pages.
	endTime = 6 * time.Minute
)

// A system is a machine that runs Debian with zramfs as a service.
type system struct {
	*Machine
	t      *testing.T
	config Config
}

// startSystem boots a Debian whose first process is init, with files that have a text and files of
// the tree, by their path in the machine.
func startSystem(t *testing.T, init []string, parameters string, texts, files, links map[string]string) *system {
	t.Helper()
	slow(t)
	source := require.System(t)
	all := withPrograms(files)
	dir := t.TempDir()
	for path, text := range texts {
		from := filepath.Join(dir, strings.ReplaceAll(path, "/", "+"))
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(from, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		all[path] = from
	}
	m := Start(t, Config{Memory: systemMemory, Source: source, Modules: []string{"ext4", "loop", "fuse"}, Sealed: true, Disks: []string{filepath.Join(source, "root.ext4")}, Root: "/dev/vda",
		Init: init, Parameters: parameters, Files: all, Links: links})
	return &system{Machine: m, t: t}
}

// fill starts a program that keeps more memory than its group may have, so that much of it is in
// swap and does not fit anywhere else, and waits until it has written its pages. Those of process 1
// are in swap as well then.
func (s *system) fill() {
	s.t.Helper()
	s.Must(commandTime, "echo >"+fillLog+"; mkdir -p /run/groups; mount -t cgroup2 cgroup /run/groups; echo +memory >/run/groups/cgroup.subtree_control; "+
		"mkdir /run/groups/fill; echo 32M >/run/groups/fill/memory.max")
	s.Must(commandTime, "setsid sh -c 'echo $$ >/run/groups/fill/cgroup.procs; exec "+boot.AgentPath+" fill -nice 19 -seconds 3600 80' >"+fillLog+" 2>&1 &")
	s.wantSoon(commandTime, "grep -c 'are written' "+fillLog, "1")
	if n := s.swapped(); n < 32<<10 {
		s.t.Fatalf("only %d KiB are in swap", n)
	}
	s.pageOut()
}

// pageOut has the kernel swap out process 1, unless that has its memory locked.
func (s *system) pageOut() {
	s.t.Helper()
	const inStatus = "awk '$1 == \"%s:\" { print $2 }' /proc/1/status"
	if s.Must(commandTime, fmt.Sprintf(inStatus, "VmLck")) != "0" {
		return
	}
	s.Must(commandTime, boot.AgentPath+" pageout 1")
	if got := s.Must(commandTime, fmt.Sprintf(inStatus, "VmSwap")); got == "0" {
		s.t.Error("nothing of process 1 is in swap")
	}
}

// wantFilling fails the test unless the program of fill goes on, with each page as it was.
func (s *system) wantFilling() {
	s.t.Helper()
	s.wantSoon(commandTime, "n=$(wc -l <"+fillLog+"); sleep 5; [ $(wc -l <"+fillLog+") -gt $n ] && echo more; grep 'not as it was' "+fillLog, "more")
}

// swapped is how much of all swap is in use, in KiB.
func (s *system) swapped() int {
	s.t.Helper()
	n, err := strconv.Atoi(s.Must(commandTime, "awk '/loop/ { n += $4 } END { print n+0 }' /proc/swaps"))
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// wantSoon repeats a command until it prints want.
func (s *system) wantSoon(within time.Duration, command, want string) {
	s.t.Helper()
	for until := time.Now().Add(within); ; {
		r := s.Run(commandTime, command)
		got := strings.TrimSpace(r.Output)
		if got == want {
			return
		}
		if time.Now().After(until) || got == "failed" {
			s.t.Fatalf("%s: exit code %d: %q, want %q", command, r.Code, got, want)
		}
		time.Sleep(time.Second)
	}
}

// wantServed kills the worker, and has another program take over by the command handOver, while a
// program has pages in swap.
func (s *system) wantServed(handOver string) {
	s.t.Helper()
	before := statusOf(s.t, s.Machine, systemDir)
	s.Must(commandTime, "kill -9 "+strconv.Itoa(before.Worker))
	s.wantFilling()
	killed := statusOf(s.t, s.Machine, systemDir)
	s.Must(commandTime, handOver+" 2>&1")
	s.wantFilling()
	after := statusOf(s.t, s.Machine, systemDir)
	if before.Keeper != after.Keeper || before.Worker == killed.Worker || killed.Worker == after.Worker {
		s.t.Errorf("keeper and worker were %d %d, after kill %d %d, after %s %d %d", before.Keeper, before.Worker, killed.Keeper, killed.Worker,
			handOver, after.Keeper, after.Worker)
	}
	s.Must(commandTime, "zramfs verify "+systemDir)
}

// broken are messages of the kernel about swap whose device is gone, and about worse.
var broken = regexp.MustCompile(`(?i).*(error on swap-device|I/O error|Kernel panic|Bus error|blocked for more than|BUG:).*`)

// wantEnd runs the command that turns the machine off, and waits for that. No page may be lost on
// the way.
func (s *system) wantEnd(command string) {
	s.t.Helper()
	begin := time.Now()
	s.pageOut()
	s.Must(commandTime, "("+command+") >/dev/console 2>&1 &")
	s.Wait(endTime)
	s.t.Logf("the machine ended after %.0f s", time.Since(begin).Seconds())
	if lost := broken.FindAllString(s.Console(), -1); len(lost) > 0 {
		s.t.Errorf("at the end the kernel says %q", lost)
	}
}
