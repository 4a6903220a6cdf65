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

// exposure bounds what systemd-analyze security says of the unit, in tenths: the options that would
// hide the mount are not there.
const exposure = "45"

// systemd-analyze has no complaint about the unit, and rates it.
func TestUnitFile(t *testing.T) {
	require.Command(t, "systemd-analyze")
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(tempDir(t), unitName)
	text = []byte(strings.ReplaceAll(string(text), "/usr/bin/zramfs", binary(t)))
	if err := os.WriteFile(unit, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"verify", "--man=no", unit},
		{"security", "--no-pager", "--offline=true", "--threshold=" + exposure, unit},
	} {
		r := runCommand(t, commandTimeout, exec.Command("systemd-analyze", args...))
		if r.Code != 0 || args[0] == "verify" && r.Stdout+r.Stderr != "" {
			t.Errorf("systemd-analyze %s: exit code %d: %s%s", args[0], r.Code, r.Stdout, r.Stderr)
		}
	}
	// A device that holds pages is neither restarted nor killed.
	for _, line := range []string{"Restart=no", "SendSIGKILL=no", "OOMPolicy=continue", "SystemCallErrorNumber=EPERM"} {
		if !strings.Contains(string(text), "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
	for _, key := range []string{"WatchdogSec=", "MemoryMax=", "MemoryHigh=", "ProtectSystem=", "PrivateTmp=", "PrivateDevices=", "PrivateMounts="} {
		if strings.Contains(string(text), "\n"+key) {
			t.Errorf("the unit has %s", key)
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
