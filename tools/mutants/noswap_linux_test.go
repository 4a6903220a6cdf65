// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Neither this process nor one that it starts turns swap on.
func TestRefuseSwap(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a filter of all threads needs root")
	}
	if err := refuseSwap(); err != nil {
		t.Fatal(err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SWAPON, 0, 0, 0); errno != unix.EPERM {
		t.Errorf("swapon: %v", errno)
	}
	out, err := exec.Command("grep", "^Seccomp:", "/proc/self/status").Output()
	if err != nil || strings.TrimSpace(string(out)) != "Seccomp:\t2" {
		t.Errorf("a process has %q, %v", out, err)
	}
}
