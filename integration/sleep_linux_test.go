// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// sleeperProgram stands for zramfs in a booted system: /run/on is swap that is on, and /run/full
// that its pages do not fit into memory. The process that serves refuses to end while swap is on.
const sleeperProgram = `#!/bin/sh
case "$1" in
up)
	trap "" TERM
	touch /run/on
	while [ -e /run/on ] && [ ! -e /run/end ]; do sleep .1; done
	;;
down) [ ! -e /run/full ] || [ ! -e /run/on ] || exit 1; rm -f /run/on ;;
esac
`

// sleeperKind is for a program that says nothing to systemd, and has little patience.
const sleeperKind = `[Service]
Type=exec
TimeoutStopSec=1
`

// sleeperSleep takes the place of a sleep, and says whether swap was on.
const sleeperSleep = `[Service]
ExecStart=
ExecStart=/bin/sh -c '[ -e /run/on ] && echo on > /boot-test/asleep || echo off > /boot-test/asleep'
`

// sleeperScript runs in the booted system, and writes what happened next to itself.
const sleeperScript = `exec > /boot-test/result.txt 2>&1
unit=zramfs@zram0.service
systemctl --quiet enable $unit 2> /dev/null
state() { echo $(systemctl show $unit -P ActiveState) $([ -e /run/on ] && echo on || echo off); }
until_is() { for n in $(seq 100); do [ "$(state)" = "$1" ] && break; sleep .1; done; echo "then $(state)"; }
hibernate() {
	rm -f /boot-test/asleep
	systemctl start systemd-hibernate.service 2> /dev/null
	echo "$1: $(cat /boot-test/asleep 2> /dev/null || echo refused)"
}
hibernate 'never started'
systemctl start $unit
until_is 'active on'
touch /run/full
hibernate 'does not fit'
systemctl stop $unit
until_is 'failed on'
systemctl start $unit 2> /dev/null; echo "start $?"
until_is 'active on'
systemctl stop $unit
until_is 'failed on'
hibernate 'failed to stop'
rm /run/full
hibernate 'failed to stop, and fits'
touch /run/end
`

const sleeperResult = `never started: off
then active on
does not fit: refused
then failed on
start 0
then active on
then failed on
failed to stop: refused
failed to stop, and fits: off
`

// With systemd as process 1 no machine hibernates while swap is on, whatever state the service is
// in: a stop that did not succeed leaves it failed, and swap on. A start then adopts the device.
// The program is a stand-in.
func TestSleepUnit(t *testing.T) {
	require.Root(t)
	require.Command(t, "systemd-nspawn")
	dir := tempDir(t)
	for name, text := range map[string]string{"zramfs": sleeperProgram, "inside.sh": sleeperScript, "boot.service": bootUnit,
		"kind.conf": sleeperKind, "sleep.conf": sleeperSleep} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	units, err := filepath.Abs(filepath.Dir(unitFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "root"), 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"-c", `mount --bind / "$0" && exec systemd-nspawn -q -D "$0" "$@"`, filepath.Join(dir, "root"),
		"--volatile=overlay", "--boot", "--register=no", "--keep-unit", "--link-journal=no", "--machine=zramfs-sleep-test",
		"--bind=" + dir + ":/boot-test", "--bind-ro=" + dir + "/zramfs:/usr/bin/zramfs",
		"--bind-ro=" + filepath.Join(units, "zramfs@.service") + ":/usr/lib/systemd/system/zramfs@.service",
		"--bind-ro=" + filepath.Join(units, "zramfs-sleep@.service") + ":/usr/lib/systemd/system/zramfs-sleep@.service",
		"--bind-ro=" + dir + "/kind.conf:/etc/systemd/system/zramfs@.service.d/kind.conf",
		"--bind-ro=" + dir + "/sleep.conf:/etc/systemd/system/systemd-hibernate.service.d/fake.conf",
		"--bind-ro=" + dir + "/boot.service:/etc/systemd/system/boot.service", "--", "--unit=boot.service"}
	removeContainerGroups(t)
	defer removeContainerGroups(t)
	cmd := exec.Command("sh", args...)
	cmd.Env = append(os.Environ(), "SYSTEMD_NSPAWN_API_VFS_WRITABLE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	r := runCommand(t, bootTime, cmd)
	text, err := os.ReadFile(filepath.Join(dir, "result.txt"))
	if err != nil || r.Code != 0 {
		t.Fatalf("exit code %d, %v: %s%s", r.Code, err, r.Stdout, r.Stderr)
	}
	if string(text) != sleeperResult {
		t.Errorf("in the system:\n%s\nwant\n%s", strings.TrimSpace(string(text)), sleeperResult)
	}
}
