// SPDX-License-Identifier: Apache-2.0

//go:build invariants || race

package killpoint

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const partVariable = "ZRAMFS_KILLPOINT_PART"

// TestMain lets the test binary be the process that is to die: it comes to a
// point twice.
func TestMain(m *testing.M) {
	if os.Getenv(partVariable) != "" {
		At("somewhere else")
		At("the point")
		At("the point")
		os.Exit(7)
	}
	os.Exit(m.Run())
}

func live(t *testing.T, file string) syscall.WaitStatus {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), partVariable+"=1", variable+"="+file)
	if err := cmd.Run(); err == nil {
		t.Fatal("it ended well")
	}
	return cmd.ProcessState.Sys().(syscall.WaitStatus)
}

func TestDiesWhereTheFileSaysAndOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "at")
	if err := os.WriteFile(file, []byte("2 the point"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := live(t, file); !s.Signaled() || s.Signal() != syscall.SIGKILL {
		t.Errorf("it was to die, and ended with %v", s)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
	if s := live(t, file); s.ExitStatus() != 7 {
		t.Errorf("the second was to live, and ended with %v", s)
	}
}

func TestLivesWhereThePointIsNotMetThatOften(t *testing.T) {
	file := filepath.Join(t.TempDir(), "at")
	for _, text := range []string{"3 the point", "1 point", "", "x", "1", "0 the point"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s := live(t, file); s.ExitStatus() != 7 {
			t.Errorf("with %q it ended with %v", text, s)
		}
	}
}
