// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

// blankDevice is execDevice after a reset, as a kernel's zram is at the start. Extra devices that
// a suite leaves are ended.
func blankDevice(t *testing.T) (dir string) {
	t.Helper()
	dir = execDevice(t)
	t.Cleanup(func() {
		left, err := filepath.Glob(filepath.Join(dir, "devices/zram*"))
		if err != nil {
			t.Error(err)
		}
		for _, further := range left {
			mustRun(t, commandTimeout, "umount", further)
		}
	})
	if r := inExec(t, dir, "echo 1 > /sys/block/zram0/reset"); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	return dir
}

// F066: the kernel's selftests for zram pass in exec: a file system, and swap. Their words for an
// algorithm that is not there, lzo, are no failure to them.
func TestSwapF066KernelSelftests(t *testing.T) {
	from := require.Suite(t, "zram")
	require.Command(t, "mkfs.ext4")
	require.Command(t, "bc")
	dir := blankDevice(t)
	guardSwap(t, dir)
	work := tempDir(t)
	system(t, toolTimeout, "cp", "-r", from+"/.", work)
	r := runCommand(t, toolTimeout, exec.Command(binary(t), "exec", dir, "--", "sh", "-c", "cd "+work+" && sh ./zram.sh"))
	for _, want := range []string{"zram01 : [PASS]", "zram02 : [PASS]"} {
		if r.Code != 0 || !strings.Contains(r.Stdout, want) {
			t.Errorf("exit code %d, without %s:\n%s%s", r.Code, want, r.Stdout, r.Stderr)
		}
	}
	for line := range strings.Lines(r.Stdout) {
		if strings.Contains(line, "FAIL") && !strings.Contains(line, "can't set 'lzo'") {
			t.Error(line)
		}
	}
}

// F066: what zram02 of the Linux Test Project does passes in exec: swap on 100 GiB with a memory
// limit of 1 MiB, which kernel zram does not count its index against.
func TestSwapF066LeastLimit(t *testing.T) {
	dir := blankDevice(t)
	guardSwap(t, dir)
	r := inExec(t, dir, "cd /sys/block/zram0 && echo 107374182400 > disksize && echo 1M > mem_limit && mkswap /dev/zram0 && "+
		"swapon /dev/zram0 && grep -c zram0 /proc/swaps && swapoff /dev/zram0 && cat mm_stat")
	lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
	if r.Code != 0 || len(lines) < 2 || field(t, lines[len(lines)-1], 3) != 1<<20 || field(t, lines[len(lines)-1], 0) == 0 {
		t.Errorf("%+v", r)
	}
}

// F066: the tests of the Linux Test Project for zram pass in exec: zram01 makes file systems and
// fills them, zram02 turns swap on and off, zram03 writes 512 MiB through a mapping, reads it back,
// and resets the device. The suite runs a test where the kernel's list of modules has a zram.
func TestSwapF066LTP(t *testing.T) {
	ltp := require.Suite(t, "ltp")
	require.Command(t, "bc")
	const module = "d=/lib/modules/$(uname -r); mkdir -p /lib/modules && mount -t tmpfs none /lib/modules && mkdir $d && " +
		"touch $d/modules.dep && echo kernel/drivers/block/zram/zram.ko > $d/modules.builtin; "
	for _, test := range []struct {
		name   string
		passed int // the least
	}{{"zram01.sh", 8}, {"zram02.sh", 6}, {"zram03", 1}} {
		t.Run(test.name, func(t *testing.T) {
			dir := blankDevice(t)
			if test.name == "zram02.sh" {
				guardSwap(t, dir)
			}
			cmd := exec.Command(binary(t), "exec", dir, "--", "sh", "-c", module+"PATH=$PATH:"+ltp+"/testcases/lib:"+ltp+"/testcases/kernel/device-drivers/zram LTPROOT="+ltp+
				" TMPDIR="+tempDir(t)+" "+test.name+" 2>&1")
			r := runCommand(t, ltpTimeout, cmd)
			if r.Code != 0 && r.Code != skippedPart || strings.Count(r.Stdout, "TPASS") < test.passed || strings.Contains(r.Stdout, "TFAIL") || strings.Contains(r.Stdout, "TBROK") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// ltpTimeout is for a test that writes a KiB by a process, 60,000 times.
const ltpTimeout = 20 * time.Minute

// skippedPart is the exit code of a test of the Linux Test Project that has left something out:
// max_comp_streams, which new kernels ignore.
const skippedPart = 32

// F069: zramswap of zram-tools turns swap on in exec, shows it, and turns it off and resets it.
func TestSwapF069ZramTools(t *testing.T) {
	program := filepath.Join(require.Suite(t, "zram-tools"), "usr/sbin/zramswap")
	require.Command(t, "bash")
	require.Command(t, "zramctl")
	dir := blankDevice(t)
	guardSwap(t, dir)
	script := "z=" + program + "; bash $z start && bash $z status && grep -c zram0 /proc/swaps && bash $z stop && cat /sys/block/zram0/initstate"
	r := inExec(t, dir, script)
	if lines := strings.Split(strings.TrimSpace(r.Stdout), "\n"); r.Code != 0 || len(lines) < 4 || lines[len(lines)-1] != "0" ||
		!strings.Contains(r.Stdout, "256M") || !strings.Contains(r.Stdout, "[SWAP]") {
		t.Errorf("%+v", r)
	}
}
