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

	"github.com/zramfs/zramfs/integration/guest/boot"
)

// microVMPrograms are the programs of the recipes, which the agent takes the place of.
var microVMPrograms = strings.NewReplacer("/usr/bin/kata-agent", "/kata-agent", "/usr/bin/program", boot.AgentPath+" serve")

// recipe returns the script of docs/microvm.md below that heading.
func recipe(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/microvm.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "\n## "+heading+"\n")
	part, _, _ = strings.Cut(part, "\n## ")
	m := regexp.MustCompile("(?s)```sh\n(#!.*?)```").FindStringSubmatch(part)
	if !found || m == nil {
		t.Fatalf("docs/microvm.md has no script for %s", heading)
	}
	return microVMPrograms.Replace(m[1])
}

// startRecipe boots a recipe as process 1 of a machine that loads no modules, with arguments.
func startRecipe(t *testing.T, heading string, arguments ...string) *system {
	t.Helper()
	slow(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"recipe": recipe(t, heading), "kata-agent": kataAgent} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &system{t: t, config: Config{Memory: 256, Modules: []string{"loop", "fuse"}, Sealed: true, Init: append([]string{"/recipe"}, arguments...),
		Files: withPrograms(map[string]string{"/recipe": dir + "/recipe", "/kata-agent": dir + "/kata-agent"})}}
	s.Machine = Start(t, s.config)
	return s
}

// wantTree fails the test unless all processes of the device are below one, which is a child of
// process 1.
func (s *system) wantTree(dir string) {
	s.t.Helper()
	d := statusOf(s.t, s.Machine, dir)
	for pid, parent := range map[int]int{d.Keeper: 1, d.Worker: d.Keeper} {
		if got := s.parent(pid); got != parent {
			s.t.Errorf("the parent of process %d is %d, want %d", pid, got, parent)
		}
	}
	outside := fmt.Sprintf("for p in $(pidof zramfsd); do [ $p = %d ] || awk '$4 != %[1]d' /proc/$p/stat; done", d.Keeper)
	if got := s.Must(commandTime, outside); got != "" {
		s.t.Errorf("processes outside of the tree: %s", got)
	}
}

func (s *system) parent(pid int) int {
	s.t.Helper()
	n, err := strconv.Atoi(s.Must(commandTime, fmt.Sprintf("awk '$1 == \"PPid:\" { print $2 }' /proc/%d/status", pid)))
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// wantOrphan kills the keeper. Its worker serves on below process 1, and status says so.
func (s *system) wantOrphan(dir string) {
	s.t.Helper()
	d := statusOf(s.t, s.Machine, dir)
	s.Must(commandTime, fmt.Sprintf("kill -9 %d", d.Keeper))
	s.wantFilling()
	if got := s.parent(d.Worker); got != 1 {
		s.t.Errorf("the parent of the worker is %d after the keeper's death", got)
	}
	if r := s.Run(commandTime, "zramfs status "+dir); r.Code != 1 {
		s.t.Errorf("without a keeper status ends with %d: %s", r.Code, r.Output)
	}
}

// The recipe for Firecracker: a shell is process 1. The device survives the death of its worker,
// and a snapshot of the machine that another goes on from; after its keeper's death no page is
// lost.
func TestMicroVMFirecracker(t *testing.T) {
	s := startRecipe(t, "Firecracker")
	s.wantTree(systemDir)
	s.fill()
	s.wantServed("zramfs upgrade " + systemDir)
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	if err := s.Snapshot(snapshot); err != nil {
		t.Fatal(err)
	}
	s.Machine = Restore(t, s.config, snapshot)
	s.wantFilling()
	s.wantTree(systemDir)
	s.wantOrphan(systemDir)
	s.wantEnd("for p in $(pidof guest-agent); do [ $p = 1 ] || kill $p; done")
}

// kataAgent stands in for Kata's agent as process 1: it mounts what that mounts, and fails as that
// does where something is mounted already.
const kataAgent = `#!/bin/sh
cp /run/guest-agent /agent
for fs in proc:/proc sysfs:/sys devtmpfs:/dev tmpfs:/run; do
	mount -t "${fs%:*}" "${fs%:*}" "${fs#*:}" || exit 1
done
cp /agent ` + boot.AgentPath + `
exec ` + boot.AgentPath + ` init
`

// The recipe for Kata's agent as process 1: it mounts anew what up needed, and the device works.
func TestMicroVMKata(t *testing.T) {
	s := startRecipe(t, "Kata Containers")
	s.fill()
	const kill = "for p in /proc/[0-9]*; do grep -q '[-]-work' $p/cmdline && kill -9 ${p#/proc/} && echo killed; done; true"
	if got := s.Must(commandTime, kill); got != "killed" {
		t.Errorf("the worker: %q", got)
	}
	s.wantFilling()
	s.wantEnd("for p in $(pidof guest-agent); do [ $p = 1 ] || kill $p; done")
}

// The recipe for krun: the entry point becomes the program, which is process 1 and buries no
// orphans. The device outlives its keeper all the same.
func TestMicroVMKrun(t *testing.T) {
	s := startRecipe(t, "krun", boot.AgentPath, "serve")
	s.wantTree(systemDir)
	s.fill()
	s.wantServed("zramfs upgrade " + systemDir)
	s.wantOrphan(systemDir)
}
