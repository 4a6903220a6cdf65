// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
)

// controllerGroup makes a control group of cgroup v1 and returns it with the top of its hierarchy.
// The processes in it must have ended when the test ends.
func controllerGroup(t *testing.T, controller, name string) (dir, top string) {
	t.Helper()
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounts {
		if slices.Contains(strings.Split(m.VFSOptions, ","), controller) {
			dir = filepath.Join(m.Mountpoint, fmt.Sprintf("zramfs-test-%s-%d", name, os.Getpid()))
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { removeGroup(t, dir) })
			return dir, m.Mountpoint
		}
	}
	t.Skipf("no mounted hierarchy of cgroup v1 has the controller %s", controller)
	return "", ""
}

// tryConfined runs mount in a confinement. A device that it makes ends with the test.
func tryConfined(t *testing.T, c confinement) (dir string, r result) {
	t.Helper()
	require.Root(t)
	require.FUSE(t)
	dir = filepath.Join(tempDir(t), "zram")
	t.Cleanup(func() { takeBack(t, dir) })
	return dir, runConfined(t, c, "mount", "--size", "64M", dir)
}

// mountConfined serves a device from a confinement until the test ends.
func mountConfined(t *testing.T, c confinement) (dir string) {
	t.Helper()
	dir, r := tryConfined(t, c)
	if r.Code != 0 {
		t.Fatalf("mount: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	return dir
}

// wantRefused wants mount in a confinement, and doctor, to fail with these words in a line.
func wantRefused(t *testing.T, c confinement, words string) {
	t.Helper()
	if _, r := tryConfined(t, c); r.Code != 1 || strings.Count(r.Stderr, "\n") != 1 || !strings.Contains(r.Stderr, words) {
		t.Errorf("mount: exit code %d: %s", r.Code, r.Stderr)
	}
	if r := runConfined(t, c, "doctor"); r.Code != 1 || !strings.Contains(r.Stdout+r.Stderr, words) {
		t.Errorf("doctor: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// A device that is started in a control group which is frozen later answers.
func TestServesWhenItsGroupIsFrozen(t *testing.T) {
	group, _ := controllerGroup(t, "freezer", "frozen")
	dir := mountConfined(t, confinement{Groups: []string{group}})
	set(t, filepath.Join(group, "freezer.state"), "FROZEN")
	defer set(t, filepath.Join(group, "freezer.state"), "THAWED")
	if r := run(t, commandTimeout, "status", "-q", dir); r.Code != 0 {
		t.Errorf("status: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// status names the control group that keeps a device from answering, and what ends that.
func TestStatusNamesTheFrozenGroup(t *testing.T) {
	dir := mountConfined(t, confinement{})
	group, top := controllerGroup(t, "freezer", "named")
	s := statusOf(t, dir)
	for _, pid := range []int{s.KeeperPID, s.WorkerPID} {
		set(t, filepath.Join(group, "cgroup.procs"), strconv.Itoa(pid))
		defer set(t, filepath.Join(top, "cgroup.procs"), strconv.Itoa(pid))
	}
	state := filepath.Join(group, "freezer.state")
	set(t, state, "FROZEN")
	defer set(t, state, "THAWED")
	all := statusJSON(t, 1, dir)
	if len(all) != 1 || len(all[0].Problems) != 1 || !strings.Contains(all[0].Problems[0].What, "control group is frozen") ||
		all[0].Problems[0].Fix != "echo THAWED > "+state {
		t.Errorf("%+v", all)
	}
}

// A device leaves a control group with a quota of processor time; where it may not, mount, doctor
// and status name the quota.
func TestQuotaOfProcessorTime(t *testing.T) {
	group, top := controllerGroup(t, "cpu", "quota")
	set(t, filepath.Join(group, "cpu.cfs_quota_us"), "50000")
	free := mountConfined(t, confinement{Groups: []string{group}})
	if p := protection(t, free, status.NameCgroup); p.State != status.OK || !strings.Contains(p.Detail, "left the group") {
		t.Errorf("%+v", p)
	}
	if in, err := os.ReadFile(filepath.Join(group, "cgroup.procs")); err != nil || len(in) > 0 {
		t.Errorf("processes %s are in the group, %v", in, err)
	}
	const words = "cpu.cfs_quota_us is 50000"
	r := runWhole(t, confinement{Groups: []string{group}, ReadOnly: []string{top}})
	if r.Code != 0 || strings.Count(r.Stdout, words) < 3 || !strings.Contains(r.Stdout, "degraded") {
		t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// wholeScript makes a device, and ends it.
const wholeScript = `"$0" doctor; "$0" mount --size 64M "$1" 2>&1 && { "$0" status "$1"; "$0" umount "$1"; }`

// runWhole runs doctor, mount, status and umount in one confinement.
func runWhole(t *testing.T, c confinement) result {
	t.Helper()
	require.Root(t)
	require.FUSE(t)
	return runProgramConfined(t, c, "/bin/sh", "-c", wholeScript, binary(t), filepath.Join(tempDir(t), "zram"))
}

// A device leaves a control group that has no room for its threads; where it may not, the command
// says so in a line.
func TestFewTasks(t *testing.T) {
	group, top := controllerGroup(t, "pids", "few")
	for _, n := range []int{5, 8, 16, 40} {
		set(t, filepath.Join(group, "pids.max"), strconv.Itoa(n))
		mountConfined(t, confinement{Groups: []string{group}})
		wantRefused(t, confinement{Groups: []string{group}, ReadOnly: []string{top}}, fmt.Sprintf("%s/pids.max is %d, which leaves room for", group, n))
	}
}

// A device lives with a limit of real-time, without the class where the limit may not be lifted.
func TestInheritedRealTimeLimit(t *testing.T) {
	may := protect.CheckScheduling()
	for _, c := range []struct {
		hard  uint64
		state status.State
		words string
	}{
		{unix.RLIM_INFINITY, may.State, may.Detail},
		{20_000, status.Warn, "RLIMIT_RTTIME"},
	} {
		if c.hard != unix.RLIM_INFINITY && mayRaise(t) {
			c.state, c.words = may.State, may.Detail
		}
		dir := mountConfined(t, confinement{Limits: map[int]unix.Rlimit{unix.RLIMIT_RTTIME: {Cur: 20_000, Max: c.hard}}})
		if p := protection(t, dir, status.NameScheduling); p.State != c.state || !strings.Contains(p.Detail, c.words) {
			t.Errorf("%+v", p)
		}
		fillSome(t, dir)
		if s := statusOf(t, dir); s.Restarts != 0 {
			t.Errorf("%d workers have died: %s", s.Restarts, s.LastExit)
		}
	}
}

// mayRaise reports whether the tests may lift hard limits.
func mayRaise(t *testing.T) bool {
	t.Helper()
	has, err := host.Local.HasCapability(host.CapSysResource)
	if err != nil {
		t.Fatal(err)
	}
	return has
}

// fillSome writes 48 MiB that do not compress.
func fillSome(t *testing.T, dir string) {
	t.Helper()
	pages := make([]byte, 48<<20)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range pages {
		pages[i] = byte(rng.Uint32())
	}
	err := withData(dir, func(fd int) error {
		_, err := unix.Pwrite(fd, pages, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A limit that would end the device is lifted, or named.
func TestInheritedFatalLimits(t *testing.T) {
	for _, c := range []struct {
		resource int
		name     string
	}{{unix.RLIMIT_CPU, "RLIMIT_CPU"}, {unix.RLIMIT_FSIZE, "RLIMIT_FSIZE"}} {
		dir := mountConfined(t, confinement{Limits: map[int]unix.Rlimit{c.resource: {Cur: 60, Max: unix.RLIM_INFINITY}}})
		s := statusOf(t, dir)
		for _, pid := range []int{s.KeeperPID, s.WorkerPID} {
			var now unix.Rlimit
			if err := unix.Prlimit(pid, c.resource, nil, &now); err != nil || now.Cur != unix.RLIM_INFINITY {
				t.Errorf("process %d has %s %+v, %v", pid, c.name, now, err)
			}
		}
		if mayRaise(t) {
			continue
		}
		wantRefused(t, confinement{Limits: map[int]unix.Rlimit{c.resource: {Cur: 60, Max: 60}}}, c.name+" is 60")
	}
}
