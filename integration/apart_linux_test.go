// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

const (
	// apartVariable is set in a test process that was started for one test.
	apartVariable = "ZRAMFS_INTEGRATION_APART"
	// apartTimeout bounds such a process.
	apartTimeout = 90 * time.Second
)

// inUserNS makes the calling test run as an unprivileged user, in a user and
// mount namespace of its own. It reports whether that is where the caller is; if
// not, the test has been run there to its end, with the leak check of TestMain,
// and the caller returns.
//
//	func TestSomething(t *testing.T) {
//		if !inUserNS(t) {
//			return
//		}
func inUserNS(t *testing.T) bool {
	t.Helper()
	if os.Getenv(apartVariable) != "" {
		return true
	}
	require.FUSE(t)
	runApart(t, require.UserNS(t))
	return false
}

// apart makes the calling test run in a process of its own, which is killed when
// it takes too long. It is for tests that touch a mount themselves, and is used
// as inUserNS is.
func apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(apartVariable) != "" {
		return true
	}
	runApart(t, nil)
	return false
}

func runApart(t *testing.T, attr *syscall.SysProcAttr) {
	t.Helper()
	runApartOn(t, attr, binary(t))
}

// runApartOn is runApart with another program to test.
func runApartOn(t *testing.T, attr *syscall.SysProcAttr, program string) {
	t.Helper()
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.Command("/proc/self/exe", "-test.run="+pattern, "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), apartVariable+"=1", binaryVariable+"="+program)
	cmd.Dir = "/"
	cmd.SysProcAttr = attr
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := inTime(cmd, apartTimeout) // its own janitor ends what it waits for
	switch out := output.Bytes(); {
	case err != nil:
		t.Errorf("%v:\n%s", err, out)
	case bytes.Contains(out, []byte("--- SKIP: "+t.Name()+" ")):
		t.Skipf("%s", out)
	case !bytes.Contains(out, []byte("--- PASS: "+t.Name()+" ")):
		t.Errorf("the test was not run:\n%s", out)
	}
}
