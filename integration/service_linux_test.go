// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// exposure bounds what systemd-analyze security says of the unit, in tenths: the options that would
// hide the mount are not there, and a container needs a mount namespace.
const exposure = "44"

// systemd-analyze has no complaint about the units, and rates them.
func TestUnitFile(t *testing.T) {
	require.Command(t, "systemd-analyze")
	unit := filepath.Join(tempDir(t), unitName)
	text := writeUnit(t, unitFile, unit)
	sleep := filepath.Join(filepath.Dir(unit), "zramfs-sleep@zram0.service")
	writeUnit(t, sleepFile, sleep)
	for _, args := range [][]string{
		{"verify", "--man=no", unit, sleep},
		{"security", "--no-pager", "--offline=true", "--threshold=" + exposure, unit},
		{"security", "--no-pager", "--offline=true", "--threshold=" + exposure, sleep},
	} {
		r := runCommand(t, commandTimeout, exec.Command("systemd-analyze", args...))
		if r.Code != 0 || args[0] == "verify" && r.Stdout+r.Stderr != "" {
			t.Errorf("systemd-analyze %s: exit code %d: %s%s", args, r.Code, r.Stdout, r.Stderr)
		}
	}
	// A device that holds pages is neither restarted nor killed, and its group is one whose
	// protection counts.
	for _, line := range []string{"Slice=-.slice", "MemoryMin=infinity", "Restart=no", "SendSIGKILL=no", "OOMPolicy=continue", "SystemCallErrorNumber=EPERM"} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
	for _, key := range []string{"WatchdogSec=", "MemoryMax=", "MemoryHigh=", "ProtectSystem=", "PrivateTmp=", "PrivateDevices=", "PrivateMounts="} {
		if strings.Contains(text, "\n"+key) {
			t.Errorf("the unit has %s", key)
		}
	}
}

// writeUnit writes a unit with the program under test to a file, and returns its text.
func writeUnit(t *testing.T, from, path string) string {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	unit := strings.ReplaceAll(string(text), "/usr/bin/zramfs", binary(t))
	if err := os.WriteFile(path, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	return unit
}

// F067: systemd has no complaint about what the generator writes, and knows the device by
// zram-generator's name.
func TestF067GeneratedUnits(t *testing.T) {
	require.Command(t, "systemd-analyze")
	dir := tempDir(t)
	packaged, generated, program := filepath.Join(dir, "packaged"), filepath.Join(dir, "generated"), filepath.Join(dir, "zramfs-generator")
	if err := errors.Join(os.Mkdir(packaged, 0o700), os.Symlink(binary(t), program)); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{unitFile, sleepFile} {
		writeUnit(t, from, filepath.Join(packaged, filepath.Base(from)))
	}
	for _, root := range []string{"07-directories", "08-backing"} {
		if err := errors.Join(os.RemoveAll(generated), os.Mkdir(generated, 0o700)); err != nil {
			t.Fatal(err)
		}
		run := exec.Command(program, generated)
		run.Env = append(os.Environ(), "ZRAMFS_GENERATOR_ROOT=../internal/command/testdata/generator/"+root)
		if r := runCommand(t, commandTimeout, run); r.Code != 0 || r.Stderr != "" {
			t.Fatalf("%s: exit code %d: %s", root, r.Code, r.Stderr)
		}
		// The unit is not where the link of the other name leads to in this test.
		alias := filepath.Join(generated, "systemd-zram-setup@zram1.service")
		if err := errors.Join(os.Remove(alias), os.Symlink(filepath.Join(packaged, "zramfs@.service"), alias)); err != nil {
			t.Fatal(err)
		}
		verify := exec.Command("systemd-analyze", "verify", "--man=no", "zramfs@zram1.service", "zramfs-sleep@zram1.service", "systemd-zram-setup@zram1.service")
		verify.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+generated+":"+packaged+":")
		if r := runCommand(t, commandTimeout, verify); r.Code != 0 || r.Stdout+r.Stderr != "" {
			t.Errorf("%s: exit code %d: %s%s", root, r.Code, r.Stdout, r.Stderr)
		}
	}
}

// The scripts of dist are such that sh and shellcheck accept them.
func TestServiceScripts(t *testing.T) {
	for _, script := range []string{"../dist/openrc/zramfs", "../dist/runit/zramfs/run", "../dist/runit/zramfs/finish", detector + "zramfs.sh"} {
		info, err := os.Stat(script)
		if err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: %v, not executable", script, err)
		}
		system(t, commandTimeout, "sh", "-n", script)
		if _, err := exec.LookPath("shellcheck"); err == nil {
			// OpenRC sets and calls names that shellcheck does not see.
			system(t, commandTimeout, "shellcheck", "--shell=sh", "--exclude=SC1091,SC2034,SC2154", script)
		}
	}
}
