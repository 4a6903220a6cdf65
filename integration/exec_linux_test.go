// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// execDevice serves a device for exec.
func execDevice(t *testing.T, flags ...string) (dir string) {
	t.Helper()
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	return mount(t, append([]string{"--size", "64M", "-a", "lz4"}, flags...)...)
}

// inExec runs a shell script by zramfs exec.
func inExec(t *testing.T, dir, script string) result {
	t.Helper()
	return onceAnswered(t, func() result { return run(t, commandTimeout, "exec", dir, "--", "sh", "-c", script) })
}

// onceAnswered calls exec again where the device did not answer in a second, on a busy machine:
// nothing was run then.
func onceAnswered(t *testing.T, call func() result) (r result) {
	t.Helper()
	within(t, time.Minute, "the device answers", func() bool {
		r = call()
		return !strings.Contains(r.Stderr, "has not answered for 1 s")
	})
	return r
}

// F066: zramctl of util-linux lists the device in exec, unmodified, with the values of our
// attributes: as the only device, by name, and with all columns.
func TestF066ExecZramctl(t *testing.T) {
	require.Command(t, "zramctl")
	dir := execDevice(t, "-m", "32M")
	loop := attachments["loopsetup"](t, dir)
	writeBlocks(t, loop, 5<<20)
	const columns = "NAME,ALGORITHM,DISKSIZE,DATA,COMPR,TOTAL,MEM-LIMIT,MEM-USED,ZERO-PAGES"
	for _, device := range []string{"", "/dev/zram0"} {
		var r result
		before, stat := "", attribute(t, dir, "mm_stat")
		for try := 0; before != stat && try < 10; try++ { // the store fills its reserve in the background
			before = stat
			r = inExec(t, dir, "zramctl --bytes --raw --noheadings --output "+columns+" "+device)
			stat = attribute(t, dir, "mm_stat")
		}
		want := strings.Join(append([]string{"/dev/zram0", "lz4", strconv.Itoa(64 << 20)}, strings.Fields(stat)[:6]...), " ") + "\n"
		if r.Code != 0 || r.Stdout != want {
			t.Errorf("zramctl %s: exit code %d: %q, want %q\n%s", device, r.Code, r.Stdout, want, r.Stderr)
		}
	}
	if r := inExec(t, dir, "zramctl --output-all"); r.Code != 0 || strings.Count(r.Stdout, "\n") != 2 {
		t.Errorf("zramctl --output-all: %+v", r)
	}
}

// All that a script looks at is there: one zram, its node, which is the loop device, its directory
// with the loop device's files where ours has none, and the nodes of the machine.
func TestExecSees(t *testing.T) {
	dir := execDevice(t)
	loop := attachments["loopsetup"](t, dir)
	var st unix.Stat_t
	if err := unix.Stat(loop, &st); err != nil {
		t.Fatal(err)
	}
	number := strconv.Itoa(int(unix.Major(st.Rdev))) + ":" + strconv.Itoa(int(unix.Minor(st.Rdev)))
	for script, want := range map[string]string{
		"echo /dev/zram*":                                                   "/dev/zram0",
		"cd /sys/block; echo zram*":                                         "zram0",
		"stat -c %Hr:%Lr /dev/zram0":                                        number,
		"cat /sys/block/zram0/dev":                                          number,
		"readlink /sys/dev/block/" + number:                                 "../../block/zram0",
		"cat /sys/block/zram0/disksize":                                     strconv.Itoa(64 << 20),
		"cat /sys/block/zram0/size":                                         strconv.Itoa(64 << 20 / 512),
		"cat /sys/block/zram0/queue/rotational":                             strings.TrimSpace(system(t, toolTimeout, "cat", "/sys/block/"+filepath.Base(loop)+"/queue/rotational")),
		"grep DEVNAME /sys/block/zram0/uevent":                              "DEVNAME=zram0",
		"test -d /sys/class/zram-control; echo $?":                          "0",
		"ls /sys/class/zram-control":                                        "hot_remove", // hot_add is found by its name alone
		"test -c /dev/null -a -d /dev/pts -a -e /dev/loop-control; echo $?": "0",
		"echo hidden > /dev/null; echo $?":                                  "0",
		"modprobe zram; echo $?":                                            "0",
	} {
		if r := inExec(t, dir, script); r.Code != 0 || strings.TrimSpace(r.Stdout) != want {
			t.Errorf("%s: exit code %d: %q, want %q\n%s", script, r.Code, r.Stdout, want, r.Stderr)
		}
	}
}

// The exit code is the command's, and those of env(1) for a command that cannot run.
func TestExecCodes(t *testing.T) {
	dir := execDevice(t)
	for name, c := range map[string]struct {
		command []string
		code    int
	}{
		"success": {[]string{"true"}, 0}, "failure": {[]string{"sh", "-c", "exit 7"}, 7},
		"signal": {[]string{"sh", "-c", "kill -KILL $$"}, 128 + 9}, "none": {[]string{"no-such-command"}, 127},
		"no path": {[]string{"/no/such/command"}, 127}, "not executable": {[]string{"/etc/passwd"}, 126},
		"flags are the command's": {[]string{"sh", "-c", "test $0 = --help", "--help"}, 0},
		"two dashes":              {[]string{"sh", "-c", `test "$1" = --`, "sh", "--"}, 0},
	} {
		r := run(t, commandTimeout, append([]string{"exec", dir, "--"}, c.command...)...)
		if r.Code != c.code || (r.Stderr == "") != (r.Code < 126 || r.Code > 127) {
			t.Errorf("%s: exit code %d, want %d: %q", name, r.Code, c.code, r.Stderr)
		}
	}
	for _, args := range [][]string{{"exec", dir}, {"exec", dir, "--"}, {"exec", dir, dir, "--", "true"}, {"exec", "", "--", "true"}} {
		if r := run(t, commandTimeout, args...); r.Code != 2 || !strings.HasPrefix(r.Stderr, "zramfs: exec: ") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := run(t, commandTimeout, "exec", dir+"-absent", "--", "true"); r.Code != 1 || !strings.Contains(r.Stderr, "no zramfs device") {
		t.Errorf("%+v", r)
	}
}

// Another user than root is told why not.
func TestExecWantsRoot(t *testing.T) {
	dir := execDevice(t)
	cmd := command(t, "exec", dir, "--", "true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if r := runCommand(t, commandTimeout, cmd); r.Code != 1 || !strings.Contains(r.Stderr, "run as root") {
		t.Errorf("%+v", r)
	}
}

// Signals reach the command, and the kernel kills it with the process that started it.
func TestExecSignals(t *testing.T) {
	dir := execDevice(t)
	for _, signal := range []syscall.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGINT} {
		if ossignal.Ignored(signal) {
			continue // as below nohup: a shell cannot trap it either
		}
		cmd := command(t, "exec", dir, "--", "sh", "-c", "trap 'exit 9' TERM HUP USR1 INT; echo ready; while :; do sleep 0.01; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(commandTimeout, func() { _ = cmd.Process.Kill() }) // it may have ended
		defer late.Stop()
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Errorf("%q, %v", line, err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 9 {
			t.Errorf("%s: %v", signal, err)
		}
	}
	if r := inExec(t, dir, "kill -KILL $PPID; sleep 0.5; echo alive"); r.Code != -1 || r.Stdout != "" {
		t.Errorf("killed: %+v", r)
	}
}

// The command has the terminal: it is the same one, and Ctrl-C reaches it.
func TestExecTerminal(t *testing.T) {
	require.Command(t, "script")
	dir := execDevice(t)
	line := "exec " + binary(t) + " exec " + dir + " -- sh -c " +
		`'trap "echo caught" INT; tty; echo ready; n=0; while [ $n -lt 30 ]; do sleep 0.05; n=$((n+1)); done; exit 5'`
	cmd := exec.Command("script", "-qec", line, "/dev/null")
	in, out := startPiped(t, cmd)
	caught, tty := 0, ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text := strings.TrimSpace(lines.Text())
		switch {
		case strings.HasPrefix(text, "/dev/"):
			tty = text
		case text == "ready":
			if _, err := in.Write([]byte{3}); err != nil {
				t.Error(err)
			}
		case strings.HasSuffix(text, "caught"):
			caught++
		}
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 5 || caught == 0 || !strings.HasPrefix(tty, "/dev/pts/") {
		t.Errorf("%v, caught %d times, terminal %q", err, caught, tty)
	}
}

// Nothing stays: no mount outside, no node, no loop device, whether the command ends or is killed.
func TestExecLeavesNothing(t *testing.T) {
	dir := execDevice(t)
	mounts := func() string {
		text, err := os.ReadFile("/proc/self/mounts")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := mounts()
	for _, script := range []string{"true", "kill -KILL $$", "mount -t tmpfs none /mnt", "kill -KILL $PPID; sleep 5"} {
		if r := inExec(t, dir, "test -b /dev/zram0 || exit 1; "+script); r.Code != 0 && r.Code != 137 && r.Code != -1 {
			t.Errorf("%s: %+v", script, r)
		}
		if after := mounts(); after != before {
			t.Errorf("%s: mounts were\n%s\nand are\n%s", script, before, after)
		}
		within(t, answerTimeout, "the loop device detaches", func() bool {
			on, err := loopsOn(dir)
			return err == nil && len(on) == 0
		})
	}
}

// F069: a script for kernel zram that only swaps works in exec; swap stays on by the loop device's
// name, so that swapoff outside finds it.
func TestSwapF069Exec(t *testing.T) {
	for _, program := range []string{"mkswap", "swapon", "swapoff"} {
		require.Command(t, program)
	}
	dir := execDevice(t)
	guardSwap(t, dir)
	r := inExec(t, dir, "set -e; mkswap /dev/zram0; swapon -p 7 /dev/zram0; grep -w /dev/zram0 /proc/swaps")
	if r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	area := oneSwap(t, dir)
	if area.Priority != 7 || !strings.Contains(r.Stderr, area.Path) {
		t.Errorf("%+v, and it said %q", area, r.Stderr)
	}
	r = inExec(t, dir, "set -e; zramctl --raw --noheadings -o MOUNTPOINT; swapoff /dev/zram0")
	if r.Code != 0 || r.Stdout != "[SWAP]\n" {
		t.Errorf("%+v", r)
	}
	if on, err := swapOn(dir); err != nil || len(on) > 0 {
		t.Errorf("after swapoff: %+v, %v", on, err)
	}
}

// F066: zramctl of util-linux resets the device in exec, makes it anew, adds extra devices and
// removes them, and is refused as by the kernel while one is mounted, open or absent.
func TestF066ExecZramctlCreates(t *testing.T) {
	require.Command(t, "zramctl")
	require.Command(t, "mkfs.ext4")
	dir := execDevice(t)
	t.Cleanup(func() { // an extra device that a failed script left
		further := filepath.Join(dir, "devices/zram1")
		if points, err := mountsBelow(further); err == nil && len(points) > 0 {
			run(t, commandTimeout, "umount", further)
		}
	})
	const script = `all() { echo $(zramctl --raw -n -o NAME,DISKSIZE,ALGORITHM | sort); }
zramctl -s 32M -a zstd -t 2 zram0; all; blockdev --getsize64 /dev/zram0
zramctl -s 32M -a nonesuch zram0 2>&1; zramctl -f; zramctl -s 32M zram0; all
zramctl -f -s 16M -a lz4; all; ls -d /dev/zram* /sys/block/zram* | wc -l
mkfs.ext4 -q /dev/zram1 && mount /dev/zram1 /mnt && zramctl -n -o MOUNTPOINT zram1
zramctl -r /dev/zram1 2>&1; umount /mnt; zramctl -r /dev/zram1; all; ls -d /dev/zram* /sys/block/zram* | wc -l
zramctl -r zram0; zramctl -bn -o DISKSIZE zram0; zramctl -s 8M zram0; blockdev --getsize64 /dev/zram0
exec 7< /dev/zram0; zramctl -r zram0 2>&1; exec 7<&-; zramctl -r zram0; echo $?
zramctl -r zram5 2>&1; zramctl -s 64M -a lz4 zram0; all`
	want := `/dev/zram0 32M zstd
33554432
zramctl: /dev/zram0: failed to set algorithm: Invalid argument
/dev/zram0
/dev/zram0 32M adaptive
/dev/zram1
/dev/zram0 32M adaptive /dev/zram1 16M lz4
4
/mnt
zramctl: /dev/zram1: failed to reset: Device or resource busy
/dev/zram0 32M adaptive
2
       0
8388608
zramctl: /dev/zram0: failed to reset: Device or resource busy
0
zramctl: zram5: failed to reset: No such device
/dev/zram0 64M lz4
`
	if r := inExec(t, dir, script); r.Code != 0 || r.Stdout != want || r.Stderr != "" {
		t.Errorf("exit code %d:\n%s\nwant\n%s\n%s", r.Code, r.Stdout, want, r.Stderr)
	}
}
