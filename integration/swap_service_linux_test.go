// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

const (
	unitName = "zramfs@zram0.service"
	unitFile = "../dist/systemd/zramfs@.service"
	// sleepFile is the unit that turns swap off before the machine sleeps.
	sleepFile = "../dist/systemd/zramfs-sleep@.service"
	bootTime  = 55 * time.Second
	swapTime  = 30 * time.Second
)

// bootConfig has a device, and one that this machine is not to have.
const bootConfig = `[zram0]
size = 256M
devices = 2
algorithm = lz4
spill = /boot-test/cold
slots = free
zswap = off
[zram1]
zram-size = 0
`

// bootDropIn ends a process that calls what the filter has not, in place of failing the call. The
// container is a PID namespace.
const bootDropIn = `[Service]
SystemCallErrorNumber=kill
Environment=OPTIONS=--force
`

// bootSleep takes the place of a sleep.
const bootSleep = `[Service]
ExecStart=
ExecStart=/bin/sh -c 'grep -c loop /proc/swaps > /boot-test/asleep; true'
`

// bootScript runs in the booted system, and writes what happened next to itself.
const bootScript = `exec > /boot-test/result.txt 2>&1
until_is() { for n in $(seq 200); do [ "$(eval "$2")" = "$1" ] && return; sleep .1; done; echo "never $1: $2"; }
show() { systemctl show "$1" -P "$2"; }
unit=zramfs@zram0.service
show $unit ActiveState; show $unit StatusText; show $unit SourcePath
grep -c loop /proc/swaps
pid=$(show $unit MainPID); tr '\0' ' ' < /proc/$pid/cmdline; echo
grep -E '^(NoNewPrivs|Seccomp|CapBnd):' /proc/$pid/status
show $unit Names | tr ' ' '\n' | sort
systemctl reload $unit; echo reload $?
zramfs events /run/zram | grep -c upgraded
worker=$(pgrep -P $pid -f 'zramfsd worker'); kill -9 $worker
until_is died 'zramfs events /run/zram | grep -o died'
zramfs verify /run/zram > /dev/null; echo verify $?
cd /run/zram/block/zram0
echo all > idle; echo idle > writeback; echo writeback $?; [ "$(awk '{ print $1 }' bd_stat)" -gt 0 ] || cat bd_stat
zramfs compact /run/zram > /dev/null; echo compact $?
zramfs set /run/zram recomp-algorithm=zstd mem-limit=128M > /dev/null; echo set $?
zramfs recompress /run/zram > /dev/null; echo recompress $?
second=$(cat ../../control/hot_add); echo $second > ../../control/hot_remove; echo hot_add $?
cd /
systemctl stop systemd-zram-setup@zram0.service; echo stop $?
grep -c loop /proc/swaps
systemctl start systemd-zram-setup@zram0.service; echo start $?
zramfs down --quiet /run/zram
until_is inactive "show $unit ActiveState"; show $unit Result
systemctl start $unit
systemctl start suspend.target; echo suspend $? with $(cat /boot-test/asleep)
until_is 2 'grep -c loop /proc/swaps'
mkdir -p /run/systemd/system/zramfs-sleep@.service.d; rm /boot-test/asleep
printf '[Service]\nExecStart=\nExecStart=/bin/false\n' > /run/systemd/system/zramfs-sleep@.service.d/fail.conf
systemctl daemon-reload
systemctl start hibernate.target 2> /dev/null; echo hibernate $?; ls /boot-test/asleep 2> /dev/null
systemctl start suspend.target; echo suspend $? with $(cat /boot-test/asleep)
systemctl stop $unit
systemctl start hibernate.target; echo hibernate $? with $(cat /boot-test/asleep)
grep -c loop /proc/swaps
systemctl start zramfs@zram1.service; echo none $?
until_is inactive 'show zramfs@zram1.service ActiveState'; show zramfs@zram1.service Result
systemctl start $unit; echo again $?
grep -c loop /proc/swaps
`

// bootResult is what it writes. The capabilities are DAC_READ_SEARCH, IPC_LOCK, SYS_PTRACE,
// SYS_ADMIN, SYS_NICE and SYS_RESOURCE.
const bootResult = `active
256M of swap at LOOPS, priority 100
/etc/zramfs.conf
2
@zramfsd keeper --size=268435456 --algorithm=lz4 --mem-limit=0 --latency=auto --cold=5% --scrub=24h0m0s --on-full=spill --spill-daily=1073741824 --memory=auto --spill=/boot-test/cold --created-dir -- /run/zram 
CapBnd:	0000000000ac4004
NoNewPrivs:	1
Seccomp:	2
systemd-zram-setup@zram0.service
zramfs@zram0.service
reload 0
1
verify 0
writeback 0
compact 0
set 0
recompress 0
hot_add 0
stop 0
0
start 0
success
suspend 0 with 0
hibernate 1
suspend 0 with 2
hibernate 0 with 0
0
none 0
success
again 0
2
`

const bootUnit = `[Unit]
Requires=sysinit.target swap.target
After=sysinit.target swap.target
[Service]
Type=oneshot
ExecStart=/bin/sh /boot-test/inside.sh
ExecStopPost=/bin/systemctl --no-block poweroff
`

// F067: systemd as PID 1 starts the device that the configuration asks for, by the generator, with
// the unit's capabilities and its filter of system calls, through all that a device does: neither
// of its processes calls anything else. It hands it over on reload, stops it by the name of
// zram-generator's unit, notices down, and turns swap off at shutdown and while the machine sleeps.
// The system is this machine's, with all changes in memory.
func TestSwapF067Systemd(t *testing.T) {
	require.FUSE(t)
	require.Loop(t)
	require.Command(t, "systemd-nspawn")
	require.Swap(t)
	dir := tempDir(t)
	for name, text := range map[string]string{"inside.sh": bootScript, "boot.service": bootUnit,
		"zramfs.conf": bootConfig, "kill.conf": bootDropIn, "sleep.conf": bootSleep} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cold"), make([]byte, 16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	units, err := filepath.Abs(filepath.Dir(unitFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "root"), 0o700); err != nil {
		t.Fatal(err)
	}
	binds := []string{"--bind=/dev/fuse", "--bind=/dev/loop-control", "--bind=" + dir + ":/boot-test",
		"--bind-ro=" + binary(t) + ":/usr/bin/zramfs", "--bind-ro=" + serverBeside(binary(t)) + ":/usr/bin/zramfsd",
		"--bind-ro=" + filepath.Join(units, "zramfs@.service") + ":/usr/lib/systemd/system/zramfs@.service",
		"--bind-ro=" + filepath.Join(units, "zramfs-sleep@.service") + ":/usr/lib/systemd/system/zramfs-sleep@.service",
		"--bind-ro=" + binary(t) + ":/usr/lib/systemd/system-generators/zramfs-generator", "--setenv=ZRAMFS_GENERATOR_ROOT=/",
		"--bind-ro=" + dir + "/sleep.conf:/etc/systemd/system/systemd-suspend.service.d/fake.conf", "--bind-ro=" + dir + "/sleep.conf:/etc/systemd/system/systemd-hibernate.service.d/fake.conf",
		"--bind-ro=" + dir + "/zramfs.conf:/etc/zramfs.conf", "--bind-ro=" + dir + "/kill.conf:/etc/systemd/system/zramfs@.service.d/kill.conf",
		"--bind-ro=" + dir + "/boot.service:/etc/systemd/system/boot.service"}
	loops, err := filepath.Glob("/dev/loop[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, loop := range loops {
		binds = append(binds, "--bind="+loop)
	}
	// The container's own filter leaves out what swap needs.
	args := append([]string{"-c", `mount --bind / "$0" && exec systemd-nspawn -q -D "$0" "$@"`, filepath.Join(dir, "root"),
		"--volatile=overlay", "--boot", "--register=no", "--keep-unit", "--link-journal=no", "--capability=all", "--machine=zramfs-test",
		"--system-call-filter=@swap @mount @memlock @resources process_madvise"}, append(binds, "--", "--unit=boot.service")...)
	removeContainerGroups(t)
	defer removeContainerGroups(t)
	g := startGuard(t, hiddenData, swapTime) // the end of a container that hangs would end its keeper
	defer g.dismiss(t)
	cmd := exec.Command("sh", args...)
	cmd.Env = append(os.Environ(), "SYSTEMD_NSPAWN_API_VFS_WRITABLE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	r := runCommand(t, bootTime, cmd)
	text, err := os.ReadFile(filepath.Join(dir, "result.txt"))
	if err != nil || r.Code != 0 {
		t.Fatalf("exit code %d, %v: %s%s", r.Code, err, r.Stdout, r.Stderr)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if before, after, ok := strings.Cut(line, "swap at "); ok {
			_, rest, _ := strings.Cut(after, ",")
			line = before + "swap at LOOPS," + rest
		}
		if !strings.HasPrefix(line, "Created symlink") {
			got = append(got, line)
		}
	}
	if strings.Join(got, "") != bootResult {
		t.Errorf("in the system:\n%s\nwant\n%s", strings.Join(got, ""), bootResult)
	}
	if swaps, err := os.ReadFile("/proc/swaps"); err != nil || strings.Contains(string(swaps), "loop") {
		t.Errorf("after the shutdown: %s, %v", swaps, err)
	}
}

// removeContainerGroups removes the control groups that a container left which has ended. Where one
// hierarchy has such a group and the other lacks it, systemd-nspawn does not start.
func removeContainerGroups(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	var groups []string
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 || fields[1] != "" && fields[1] != "name=systemd" {
			continue
		}
		for _, hierarchy := range []string{".", "unified", "systemd"} {
			for _, name := range []string{"payload", "supervisor"} {
				top := filepath.Join("/sys/fs/cgroup", hierarchy, fields[2], name)
				_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
					if err == nil && d.IsDir() {
						groups = append(groups, path)
					}
					return nil
				})
			}
		}
	}
	for _, group := range slices.Backward(groups) {
		_ = os.Remove(group) // which fails where a process is in it
	}
}
