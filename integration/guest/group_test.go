// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// startGrouped boots a machine with a hierarchy of cgroup v2 and no device.
func startGrouped(t *testing.T) *system {
	t.Helper()
	slow(t)
	s := &system{t: t, config: Config{Memory: 384, Modules: []string{"loop", "fuse"}, Files: withPrograms(nil)}}
	s.Machine = Start(t, s.config)
	s.Must(commandTime, "mkdir -p /sys/fs/cgroup; mount -t cgroup2 cgroup /sys/fs/cgroup; echo +memory >/sys/fs/cgroup/cgroup.subtree_control")
	return s
}

// group makes a group of cgroup v2 with these settings, as "memory.max=64M".
func (s *system) group(name string, settings ...string) {
	s.t.Helper()
	s.Must(commandTime, "mkdir /sys/fs/cgroup/"+name)
	for _, setting := range settings {
		file, value, _ := strings.Cut(setting, "=")
		s.Must(commandTime, fmt.Sprintf("echo %s >/sys/fs/cgroup/%s/%s", value, name, file))
	}
}

// within runs a command in a group.
func (s *system) within(name, command string) (code int, output string) {
	s.t.Helper()
	r := s.Run(commandTime, fmt.Sprintf("sh -c 'echo $$ >/sys/fs/cgroup/%s/cgroup.procs; exec %s' 2>&1", name, command))
	return r.Code, r.Output
}

func (s *system) control(path string) string {
	s.t.Helper()
	return s.Must(commandTime, "cat /sys/fs/cgroup/"+path)
}

// The kernel holds groups of cgroup v2 to their limits of swap where zramfs is the only swap: what
// a group may swap makes room for it, what it may not swap ends it and no other process.
func TestLimitedGroup(t *testing.T) {
	s := startGrouped(t)
	s.Must(commandTime, "mkdir "+systemDir+"; zramfs up --size 256M --devices 2 --slots keep "+systemDir)
	before := statusOf(t, s.Machine, systemDir)

	s.group("may", "memory.max=48M")
	if code, out := s.within("may", "/run/guest-agent fill 80"); code != 0 {
		t.Errorf("a group that may swap: exit code %d: %s", code, out)
	}
	if peak, err := strconv.Atoi(s.control("may/memory.stat | awk '$1 == \"pswpout\" { n = $2 } END { print n+0 }'")); err == nil && peak > 0 {
		t.Logf("pages swapped out: %d", peak)
	}
	s.group("little", "memory.max=48M", "memory.swap.max=8M")
	if code, out := s.within("little", "/run/guest-agent fill 80"); code == 0 {
		t.Errorf("with 8 MiB of swap the program ends with 0: %s", out)
	}
	s.group("none", "memory.max=48M", "memory.swap.max=0")
	if code, out := s.within("none", "/run/guest-agent fill 80"); code == 0 {
		t.Errorf("without swap the program ends with 0: %s", out)
	}
	for name, want := range map[string]bool{"may": false, "little": true, "none": true} {
		if events := s.control(name + "/memory.events"); strings.Contains(events, "oom_kill 0") == want {
			t.Errorf("events of group %s:\n%s", name, events)
		}
	}
	if events := s.control("little/memory.swap.events"); strings.Contains(events, "max 0\n") {
		t.Errorf("the limit of swap was never reached:\n%s", events)
	}

	s.group("slowed", "memory.high=48M")
	if code, out := s.within("slowed", "/run/guest-agent fill 80"); code != 0 {
		t.Errorf("a group above memory.high: exit code %d: %s", code, out)
	}
	s.wantSame(before)
}

// wantSame fails the test unless the same processes serve the device.
func (s *system) wantSame(before deviceStatus) {
	s.t.Helper()
	if after := statusOf(s.t, s.Machine, systemDir); after.Keeper != before.Keeper || after.Worker != before.Worker {
		s.t.Errorf("keeper and worker were %d and %d, and are %d and %d", before.Keeper, before.Worker, after.Keeper, after.Worker)
	}
}

// A keeper leaves a limited group of cgroup v2; in one that it has for itself it takes no part in
// swap and reclaim.
func TestOwnGroup(t *testing.T) {
	s := startGrouped(t)
	s.group("limited", "memory.max=64M")
	if code, out := s.within("limited", "zramfs up --size 64M --devices 1 --slots keep /run/other"); code != 0 {
		t.Fatalf("up in a limited group ends with %d: %s", code, out)
	}
	other := statusOf(t, s.Machine, "/run/other")
	for _, pid := range []int{other.Keeper, other.Worker} {
		if got := s.Must(commandTime, fmt.Sprintf("cat /proc/%d/cgroup", pid)); got != "0::/" {
			t.Errorf("process %d is in group %s", pid, got)
		}
	}
	s.Must(commandTime, "zramfs down /run/other")

	s.group("own")
	if code, out := s.within("own", "zramfs up --size 256M --devices 2 --slots keep "+systemDir); code != 0 {
		t.Fatalf("up ends with %d: %s", code, out)
	}
	if got := s.control("own/memory.swap.max") + " " + s.control("own/memory.min"); got != "0 max" {
		t.Errorf("memory.swap.max and memory.min of its own group: %s", got)
	}
	for _, p := range statusOf(t, s.Machine, systemDir).Protections {
		if p.Name == "cgroup" && (p.State != "ok" || !strings.Contains(p.Detail, "memory.min max")) {
			t.Errorf("status says %+v", p)
		}
	}
}

// A keeper leaves the groups of cgroup v2 that it shares with others, or that have a quota of
// processor time or no room for its threads. Where it may not, doctor names the limit, and status
// names the frozen group of a silent device.
func TestLeavesGroupsOfOthers(t *testing.T) {
	s := startGrouped(t)
	s.Must(commandTime, "echo +cpu +pids >/sys/fs/cgroup/cgroup.subtree_control")
	const frozen = "/sys/fs/cgroup/shared/cgroup.freeze"
	s.group("quota", "cpu.max=20000 100000")
	s.group("few", "pids.max=6")
	s.group("shared")
	s.Must(commandTime, "sh -c 'echo $$ >/sys/fs/cgroup/shared/cgroup.procs; exec sleep 3600' >/dev/null 2>&1 &")
	for _, group := range []string{"quota", "few", "shared"} {
		dir := "/run/" + group
		if code, out := s.within(group, "zramfs mount --size 16M "+dir); code != 0 {
			t.Fatalf("mount in the group %s ends with %d: %s", group, code, out)
		}
		status := statusOf(t, s.Machine, dir)
		for _, pid := range []int{status.Keeper, status.Worker} {
			if got := s.Must(commandTime, fmt.Sprintf("cat /proc/%d/cgroup", pid)); got != "0::/" {
				t.Errorf("process %d is in group %s", pid, got)
			}
		}
	}

	const doctor = "sh -c 'echo $$ >/sys/fs/cgroup/%s/cgroup.procs; mount -o remount,ro /sys/fs/cgroup; zramfs doctor; mount -o remount,rw /sys/fs/cgroup' 2>&1"
	for group, want := range map[string]string{"quota": "quota/cpu.max is 20000 100000: ", "few": "few/pids.max is 6, which leaves room for"} {
		if r := s.Run(commandTime, fmt.Sprintf(doctor, group)); !strings.Contains(r.Output, want) {
			t.Errorf("doctor in the group %s: %s", group, r.Output)
		}
	}

	status := statusOf(t, s.Machine, "/run/shared")
	s.Must(commandTime, "echo 1 >"+frozen)
	statusOf(t, s.Machine, "/run/shared") // the others in the group are frozen
	s.Must(commandTime, fmt.Sprintf("for pid in %d %d; do echo $pid >/sys/fs/cgroup/shared/cgroup.procs; done", status.Keeper, status.Worker))
	if r := s.Run(commandTime, "zramfs status /run/shared 2>&1"); r.Code != 1 || !strings.Contains(r.Output, "its control group is frozen") ||
		!strings.Contains(r.Output, "echo 0 > "+frozen) {
		t.Errorf("status of a frozen device: exit code %d: %s", r.Code, r.Output)
	}
	s.Must(commandTime, "echo 0 >"+frozen)
	statusOf(t, s.Machine, "/run/shared")
}
