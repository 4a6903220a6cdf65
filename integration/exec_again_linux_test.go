// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// A script for kernel zram that is called for each step finds in each exec what the last one left:
// swap by the device's name in /proc/swaps, which it stops, starts again, and resets.
func TestSwapExecAgain(t *testing.T) {
	for _, program := range []string{"mkswap", "swapon", "swapoff"} {
		require.Command(t, program)
	}
	dir := execDevice(t)
	guardSwap(t, dir)
	const on = `test "$(awk '/zram/ { print $1 }' /proc/swaps)" = /dev/zram0 && test "$(swapon --noheadings --show=NAME)" = /dev/zram0`
	const start = "modprobe zram && mkswap /dev/zram0 >/dev/null && swapon -p 7 /dev/zram0 && " + on
	for _, step := range []string{
		start,
		on + " && swapoff /dev/zram0 && ! grep zram /proc/swaps && " + start,
		"! echo 1 > /sys/block/zram0/reset && " + on,
		on + " && swapoff /dev/zram0 && echo 1 > /sys/block/zram0/reset && echo 32M > /sys/block/zram0/disksize && " + start,
		on + " && swapoff /dev/zram0 && modprobe -r zram && ! grep zram /proc/swaps",
		"echo 64M > /sys/block/zram0/disksize && " + start,
		on + " && swapoff -a",
	} {
		if r := inExec(t, dir, step); r.Code != 0 {
			t.Fatalf("%s: %+v", step, r)
		}
	}
	if on, err := swapOn(dir); err != nil || len(on) > 0 {
		t.Errorf("after swapoff: %+v, %v", on, err)
	}
}

// Scripts that call modprobe, rmmod and lsmod by their paths get those of the namespace, also on a
// machine without them, and the machine's for other modules.
func TestExecProgramsByPath(t *testing.T) {
	dir := execDevice(t)
	for _, place := range []string{"/sbin/", "/usr/sbin/", "/bin/", "/usr/bin/"} {
		script := place + "modprobe zram && " + place + "lsmod | grep -qw zram && " + place + "rmmod zram && echo 64M > /sys/block/zram0/disksize"
		if r := inExec(t, dir, script); r.Code != 0 {
			t.Errorf("%s: %+v", place, r)
		}
	}
	programs := tempDir(t)
	if err := os.WriteFile(filepath.Join(programs, "modprobe"), []byte("#!/bin/sh\necho the machine has \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"modprobe", "/sbin/modprobe"} {
		script := `mount --bind "$0" /usr/sbin && exec "$1" exec "$2" -- "$3" -q other`
		r := onceAnswered(t, func() result {
			return runCommand(t, commandTimeout, exec.Command("unshare", "--mount", "sh", "-c", script, programs, binary(t), dir, program))
		})
		if r.Code != 0 || strings.TrimSpace(r.Stdout) != "the machine has -q other" {
			t.Errorf("%s: %+v", program, r)
		}
	}
}
