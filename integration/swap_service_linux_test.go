// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

const (
	unitName = "zramfs@zram0.service"
	unitFile = "../dist/systemd/zramfs@.service"
	bootTime = 55 * time.Second
	swapTime = 30 * time.Second
)

// bootScript runs in the booted system, and writes what happened next to itself.
const bootScript = `exec > /boot-test/result.txt 2>&1
systemctl show zramfs@zram0.service -P ActiveState
systemctl show zramfs@zram0.service -P StatusText
grep -c loop /proc/swaps
pid=$(systemctl show zramfs@zram0.service -P MainPID); tr '\0' ' ' < /proc/$pid/cmdline; echo
grep -E '^(NoNewPrivs|Seccomp):' /proc/$pid/status
systemctl reload zramfs@zram0.service; echo reload $?
zramfs events /run/zram | grep -c upgraded
systemctl enable zramfs@zram0.service
systemctl stop systemd-zram-setup@zram0.service; echo stop $?
grep -c loop /proc/swaps
systemctl start systemd-zram-setup@zram0.service; echo start $?
zramfs down --quiet /run/zram; sleep 1
systemctl show zramfs@zram0.service -P ActiveState; systemctl show zramfs@zram0.service -P Result
systemctl start zramfs@zram0.service; echo again $?
grep -c loop /proc/swaps
`

// bootResult is what it writes.
const bootResult = `active
256M of swap at LOOPS, priority 100
2
zramfs mount --serve --size=268435456 --algorithm=lz4 --mem-limit=0 --created-dir -- /run/zram 
NoNewPrivs:	1
Seccomp:	2
reload 0
1
stop 0
0
start 0
inactive
success
again 0
2
`

const bootUnit = `[Unit]
Requires=sysinit.target swap.target
Wants=zramfs@zram0.service
After=sysinit.target swap.target zramfs@zram0.service
[Service]
Type=oneshot
ExecStart=/bin/sh /boot-test/inside.sh
ExecStopPost=/bin/systemctl --no-block poweroff
`

// F067: systemd as PID 1 starts the unit at boot, with its filter of system calls and capabilities,
// hands it over on reload, stops it by the name of zram-generator's unit, notices down, and turns
// swap off at shutdown. The system is this machine's, with all changes in memory.
func TestSwapF067Systemd(t *testing.T) {
	require.FUSE(t)
	require.Loop(t)
	require.Command(t, "systemd-nspawn")
	require.Swap(t)
	dir := tempDir(t)
	for name, text := range map[string]string{"inside.sh": bootScript, "boot.service": bootUnit,
		"default": `OPTIONS="--size 256M --devices 2 --algorithm lz4"`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	unit, err := filepath.Abs(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "root"), 0o700); err != nil {
		t.Fatal(err)
	}
	binds := []string{"--bind=/dev/fuse", "--bind=/dev/loop-control", "--bind=" + dir + ":/boot-test",
		"--bind-ro=" + binary(t) + ":/usr/bin/zramfs", "--bind-ro=" + unit + ":/usr/lib/systemd/system/zramfs@.service",
		"--bind-ro=" + dir + "/default:/etc/default/zramfs", "--bind-ro=" + dir + "/boot.service:/etc/systemd/system/boot.service"}
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
