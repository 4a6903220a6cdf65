// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/nodepod"
	"github.com/zramfs/zramfs/internal/require"
)

// nodeScript is process 1 of a machine that a test plays: it has a /run of its own.
const nodeScript = `mount --make-rprivate / && mount -t proc proc /proc && mount -t tmpfs tmpfs /run && echo ready && exec sleep 600`

// takeOverTime is how long a pod may take to install its program and to hand a device over to it.
const takeOverTime = time.Minute

// podScript begins a container as a runtime does: a root directory of its own, with the devices and
// the system of a privileged one.
const podScript = `mount --make-rprivate / && mount --bind "$0" "$0" && mount -t proc proc "$0/proc" &&
mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" && exec chroot "$0" /usr/bin/zramfs node "$@"`

// A played is a machine in namespaces, with the image of the pod.
type played struct {
	pid   int // process 1
	image string
}

// buildImage makes the image of the pod: the programs and nothing else. They take the PID namespace
// of a process for that of the machine.
func buildImage(t testing.TB, dir string, pid int) {
	t.Helper()
	for _, name := range []string{"usr/bin", "usr/libexec", "proc", "dev", "sys", "etc", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		t.Fatal(err)
	}
	for path, program := range map[string]string{"usr/bin/zramfs": "cmd/zramfs", "usr/libexec/zramfsd": "cmd/zramfsd"} {
		if err := build(filepath.Join(dir, path), "", program, "-X", "github.com/zramfs/zramfs/internal/host.firstPIDNamespace="+namespace); err != nil {
			t.Fatal(err)
		}
	}
}

// playNode starts a machine, which ends with the test.
func playNode(t *testing.T) *played {
	t.Helper()
	require.Command(t, "unshare")
	n := &played{image: tempDir(t)}
	cmd := exec.Command("sh", "-c", nodeScript)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.pid = cmd.Process.Pid
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // with all of its processes
		_ = cmd.Wait()
	})
	ready := make([]byte, len("ready\n"))
	if _, err := out.Read(ready); err != nil {
		t.Fatal("the machine does not begin: ", err)
	}
	buildImage(t, n.image, n.pid)
	return n
}

// pod prepares a container with a command of zramfs node.
func (n *played) pod(args ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(n.pid), "--mount", "--pid", "unshare", "--mount", "--uts", "--ipc", "--net", "sh", "-c", podScript, n.image}
	return exec.Command("nsenter", append(enter, args...)...)
}

// zramfs runs zramfs on the machine as an operator does in the pod.
func (n *played) zramfs(t *testing.T, args ...string) result {
	t.Helper()
	return runCommand(t, downTimeout, n.pod(append([]string{"zramfs"}, args...)...))
}

// A podRun is a pod that runs.
type podRun struct {
	cmd   *exec.Cmd
	said  bytes.Buffer // read after ended
	ended chan error
}

// start starts the pod, in a control group of its own where there is cgroup v2.
func (n *played) start(t *testing.T, group string, args ...string) *podRun {
	t.Helper()
	return startPod(t, n.pod(append([]string{"run", "--interval", "1s"}, args...)...), group)
}

// startPod starts a container in a control group, unless that is empty.
func startPod(t *testing.T, cmd *exec.Cmd, group string) *podRun {
	t.Helper()
	r := &podRun{cmd: cmd, ended: make(chan error, 1)}
	r.cmd.Stdout, r.cmd.Stderr = &r.said, &r.said
	if group != "" {
		dir, err := os.Open(group)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		r.cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	}
	r.cmd.WaitDelay = killGrace
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.ended <- r.cmd.Wait() }()
	return r
}

// wait returns the exit code of a pod and what it said.
func (r *podRun) wait(t *testing.T) (code int, said string) {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(commandTimeout):
		_ = r.cmd.Process.Kill()
		t.Fatalf("the pod does not end: %v", <-r.ended)
	}
	return r.cmd.ProcessState.ExitCode(), r.said.String()
}

// healthy waits until status says so.
func (n *played) healthy(t *testing.T) {
	t.Helper()
	var r result
	for end := time.Now().Add(commandTimeout); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if r = n.zramfs(t, "status", "--quiet"); r.Code == 0 {
			return
		}
	}
	t.Fatalf("the pod is not ready: %+v", r)
}

// podGroup makes the control group of a pod; empty where there is no cgroup v2.
func podGroup(t *testing.T, name string) string {
	t.Helper()
	for _, top := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(filepath.Join(top, "cgroup.procs")); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(top, "cgroup.controllers")); err != nil {
			continue
		}
		dir := filepath.Join(top, fmt.Sprintf("zramfs-test-pod-%s-%d", name, os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0o600) // what a failed test has left
			removeGroup(t, dir)
			// That of devices, which zramfs node leave removes: of others where it is in use.
			if err := os.Remove(filepath.Join(top, "zramfs")); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EBUSY) {
				t.Error(err)
			}
		})
		return dir
	}
	return ""
}

// endGroup kills a pod as a runtime does.
func endGroup(t *testing.T, dir string, all ...*podRun) {
	t.Helper()
	if dir == "" {
		for _, r := range all {
			_ = r.cmd.Process.Kill()
		}
	} else if err := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		r.wait(t)
	}
}

// A pod turns swap on outside of itself: programs that swap do not notice that it is killed, and
// that another one with another program takes its place.
func TestSwapPodOutlived(t *testing.T) {
	require.FUSE(t)
	require.Loop(t)
	require.Swap(t)
	n := playNode(t)
	group, next := podGroup(t, "first"), podGroup(t, "second")
	m := startMemory(t, memoryOrder{Pages: 32 << 20 / memoryPage, Source: sourceMix})
	m.do(t, "fill")
	g := startGuard(t, hiddenData, swapTime)
	defer g.dismiss(t)
	defer func() {
		if r := n.zramfs(t, "down", "--force"); r.Code != 0 {
			t.Errorf("down: %+v", r)
		}
	}()

	first := n.start(t, group, "--", "--size", "128M", "--devices", "1", "--algorithm", "lz4", "--zswap", "off")
	n.healthy(t)
	m.do(t, "pageout")
	before := n.worker(t)
	endGroup(t, group, first)
	n.healthy(t)
	m.do(t, "walk")
	m.do(t, "pageout")

	anotherVersion(t, filepath.Join(n.image, "usr/bin/zramfs"))
	second := n.start(t, next, "--", "--size", "256M", "--devices", "1", "--algorithm", "lz4", "--zswap", "off")
	for end := time.Now().Add(takeOverTime); n.worker(t) == before; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			endGroup(t, next, second)
			t.Fatalf("the second pod does not take the device over: %s", &second.said)
		}
	}
	m.do(t, "walk")
	if r := n.zramfs(t, "down"); r.Code != 0 {
		t.Errorf("down: %+v", r)
	}
	code, said := second.wait(t)
	for _, want := range []string{"installed zramfs on the node", "serves in place of", "is up with 128M; you asked for 256M", "/run/zram is gone"} {
		if !strings.Contains(said, want) {
			t.Errorf("the second pod does not say %q:\n%s", want, said)
		}
	}
	if code != 1 {
		t.Errorf("the second pod ends with %d", code)
	}
}

// anotherVersion makes a program one of another version: the kernel does not read what lies behind
// it.
func anotherVersion(t *testing.T, program string) {
	t.Helper()
	f, err := os.OpenFile(program, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("another version")
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// workerField is where the JSON of status names the process that serves.
var workerField = regexp.MustCompile(`"worker_pid": ?(\d+)`)

// worker returns the process that serves the device, as the machine counts. On a busy machine a
// device does not answer at once.
func (n *played) worker(t *testing.T) int {
	t.Helper()
	var r result
	for end := time.Now().Add(commandTimeout); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		r = n.zramfs(t, "status", "--json")
		if m := workerField.FindStringSubmatch(r.Stdout); m != nil {
			pid, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("no worker: %+v", r)
	return 0
}

// A pod fails with the code of up where the kubelet refuses swap, and says what it needs where it
// does not see the processes of the machine.
func TestPodRefuses(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	n := playNode(t)
	if r := n.zramfs(t, "version"); r.Code != nodepod.CodeNotInstalled {
		t.Fatalf("before the pod runs: %+v", r)
	}
	defer n.playKubelet(t)()
	if code, said := n.start(t, "", "--", "--size", "64M", "--zswap", "off").wait(t); code != 4 || !strings.Contains(said, "failSwapOn true") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if r := runCommand(t, commandTimeout, n.pod("leave")); r.Code != 0 || r.Stdout+r.Stderr != "" {
		t.Errorf("leave with --on-delete keep: %+v", r)
	}
	alone := n.pod("zramfs", "version")
	alone.Args = append([]string{"nsenter", "--target", strconv.Itoa(n.pid), "--mount", "--pid", "unshare", "--pid", "--fork"}, alone.Args[5:]...)
	if r := runCommand(t, commandTimeout, alone); r.Code != 1 || !strings.Contains(r.Stderr, "hostPID: true") {
		t.Errorf("without hostPID: %+v", r)
	}
}

// playKubelet starts a process on the machine that looks like a kubelet which refuses swap. The
// caller ends it.
func (n *played) playKubelet(t *testing.T) (end func()) {
	t.Helper()
	kubelet := filepath.Join(tempDir(t), "kubelet")
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	system(t, toolTimeout, "cp", sleep, kubelet)
	// A shell ends it with standard input: nsenter would not pass a signal on.
	cmd := exec.Command("nsenter", "--target", strconv.Itoa(n.pid), "--mount", "--pid", "sh", "-c", `"$0" 600 & read x; kill $!; wait`, kubelet)
	life, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	runs := func() bool {
		out, err := exec.Command("pgrep", "--ns", strconv.Itoa(n.pid), "--nslist", "pid", "-x", "kubelet").Output()
		return err == nil && len(out) > 0
	}
	for deadline := time.Now().Add(commandTimeout); !runs(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the kubelet does not begin")
		}
	}
	return func() {
		_ = life.Close()
		_ = cmd.Wait() // it was killed
		if runs() {
			t.Error("the kubelet does not end")
		}
	}
}
