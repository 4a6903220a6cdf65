// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/memproc"
	"github.com/zramfs/zramfs/internal/server"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// asProgram makes the test binary behave as zramfs itself, so that tests can start it as a process.
const asProgram = "ZRAMFS_TEST_AS_PROGRAM"

// asRelease is the version that it then has.
const asRelease = "ZRAMFS_TEST_AS_RELEASE"

func TestMain(m *testing.M) {
	if filepath.Base(strings.TrimPrefix(os.Args[0], "@")) == zramfsd.Name {
		os.Exit(server.Main("", os.Args))
	}
	if helper.Run(os.Args, os.Stdout) { // a command that is tested has started this process
		os.Exit(0)
	}
	memproc.Main()
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(os.Getenv(asRelease), append([]string{"zramfs"}, os.Args[1:]...)))
	}
	if err := putServer(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	time.Local = time.UTC // for texts that are compared
	os.Exit(m.Run())
}

// putServer puts the server next to the test binary, which can behave as that too.
func putServer() error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(own), zramfsd.Name)
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return os.Symlink(own, path)
}

// outcome is the result of a run of the program.
type outcome struct {
	code           int
	stdout, stderr string
}

// runProgram runs the program as a process of its own, for at most 30 seconds.
func runProgram(t *testing.T, args ...string) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return runCommand(t, cmd)
}

func runCommand(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Cancel() })
	defer timer.Stop()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run %s: %v", strings.Join(cmd.Args, " "), err)
	}
	return outcome{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}
