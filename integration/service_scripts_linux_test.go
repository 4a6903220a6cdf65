// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// busyDevice stands in for the program, with a device that answers every second time, and whose
// pages fit into memory only where the file fits is there.
const busyDevice = `#!/bin/sh
cd "${0%%/*}"
case $1 in
up) [ ! -e taken ] ;;
status)
	[ -e answers ] || { touch answers; echo '{"zramfs":[{}]}'; exit 1; }
	rm answers
	printf '%%s\n' '{' '  "keeper_pid": %d,' '  "worker_pid": 4711' '}'
	;;
down) touch down; [ -e fits ] ;;
esac
`

// startBusyDevice writes the program, for a device whose keeper is a process of the shell command
// keeper, and returns the directory that it is in.
func startBusyDevice(t *testing.T, pid int) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "zramfs"), fmt.Appendf(nil, busyDevice, pid), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "supervise"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func scriptPath(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// A device that takes long to answer has not ended: the service of runit goes on until its keeper
// does.
func TestRunitWaitsForAnswer(t *testing.T) {
	dir := startBusyDevice(t, 0)
	script := fmt.Sprintf(`cd %s; sleep 1 & sed -i "s/: 0,/: $!,/" zramfs; ZRAMFS=%[1]s/zramfs %s; echo "ends with $?"; kill -0 $! 2>/dev/null && echo before its keeper; true`,
		dir, scriptPath(t, "../dist/runit/zramfs/run"))
	if got := system(t, commandTimeout, "sh", "-c", script); strings.Contains(got, "before") || !strings.Contains(got, "ends with 0") {
		t.Errorf("the service of runit %s", got)
	}
}

// Where up fails, as where DIR has a device with other options, made by hand, the service of
// runit takes nothing down.
func TestRunitLeavesWhatItHasNotMade(t *testing.T) {
	dir := startBusyDevice(t, 4710)
	if err := os.WriteFile(filepath.Join(dir, "taken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("cd %s; export OMIT=%[1]s/omit ZRAMFS=%[1]s/zramfs; %s; %s $? 0; cat supervise/control; [ ! -e down ] || echo ' and takes it down'",
		dir, scriptPath(t, "../dist/runit/zramfs/run"), scriptPath(t, "../dist/runit/zramfs/finish"))
	if got := system(t, commandTimeout, "sh", "-c", script); got != "d" {
		t.Errorf("the service of runit ends with %q", got)
	}
}

// A stop that leaves swap on names the processes of the device to what ends all others at shutdown,
// and one that does not leaves no name.
func TestStopSparesProcesses(t *testing.T) {
	openrc := fmt.Sprintf(`RC_SVCNAME=zramfs; ebegin() { :; }; eend() { return $1; }; . %s; stop`, scriptPath(t, "../dist/openrc/zramfs"))
	for name, stop := range map[string]string{"runit": scriptPath(t, "../dist/runit/zramfs/finish"), "openrc": openrc} {
		t.Run(name, func(t *testing.T) {
			dir := startBusyDevice(t, 4710)
			run := fmt.Sprintf("mkdir -p %s/zramfs.d; cd %[1]s; export OMIT=%[1]s/omit ZRAMFS=%[1]s/zramfs; (%s); echo ends with $?; cat omit/*", dir, stop)
			if got := system(t, commandTimeout, "sh", "-c", run); !strings.HasSuffix(got, "ends with 1\n4710\n4711\n") {
				t.Errorf("where pages do not fit: %s", got)
			}
			if err := os.WriteFile(filepath.Join(dir, "fits"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := system(t, commandTimeout, "sh", "-c", run+" 2>/dev/null; true"); !strings.HasSuffix(got, "ends with 0\n") {
				t.Errorf("where pages fit: %s", got)
			}
		})
	}
}
