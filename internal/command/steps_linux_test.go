// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal returns the two ends of a new pseudo-terminal, which close with the test.
func openTerminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return user, program
}

// Progress goes to standard error only if that is a terminal.
func TestProgressOnATerminal(t *testing.T) {
	user, program := openTerminal(t)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "bench", benchCodec, "--seconds", "0.3", "--algorithm", "lz4")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, program
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	seen := make([]byte, 64<<10)
	timer := time.AfterFunc(10*time.Second, func() { _ = program.Close(); _ = user.Close() })
	defer timer.Stop()
	n, err := user.Read(seen)
	if err != nil || !bytes.Contains(seen[:n], []byte("measuring")) {
		t.Errorf("%s: the terminal shows %q (%v)", benchCodec, seen[:n], err)
	}
	if bytes.Contains(out.Bytes(), []byte("measuring")) || !bytes.Contains(out.Bytes(), []byte("ALGORITHM")) {
		t.Errorf("standard output has %q", out.Bytes())
	}
}
