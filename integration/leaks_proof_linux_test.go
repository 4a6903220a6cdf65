// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// dieVariable makes TestDie die.
const dieVariable = "ZRAMFS_INTEGRATION_DIE"

// TestLeaksAreSeen leaves one of each kind of thing behind for a moment.
func TestLeaksAreSeen(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	before, err := look()
	if err != nil {
		t.Fatal(err)
	}
	dir := mount(t, "--size", "16M")
	loop := attachments["losetup"](t, dir)
	file := openData(t, dir, 0)
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	found, err := before.leaked()
	if err != nil {
		t.Error(err)
	}
	all := strings.Join(found, "\n")
	for _, want := range []string{
		"mount on " + dir, "loop device " + loop + " on " + data(dir),
		fmt.Sprintf("process %d: @zramfsd keeper", statusOf(t, dir).PID),
		fmt.Sprintf("child process %d: sleep 60", child.Process.Pid),
		fmt.Sprintf("descriptor %d of the tests: %s", file.Fd(), data(dir)),
	} {
		if !strings.Contains(all, want) {
			t.Errorf("not seen: %q; only\n%s", want, all)
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait() // says that it was killed
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

// TestJanitor lets a test process die with a device in use: the janitor takes
// everything away that it has left.
func TestJanitor(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestDie$", "-test.v")
	cmd.Env = append(os.Environ(), dieVariable+"=1", binaryVariable+"="+binary(t))
	r := runCommand(t, apartTimeout, cmd)
	_, rest, ok := strings.Cut(r.Stdout, "dies in ")
	theirs, _, _ := strings.Cut(rest, "\n")
	if r.Code != -1 || !ok {
		t.Fatalf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	within(t, answerTimeout, "the directory of the dead process is gone", func() bool {
		_, err := os.Lstat(theirs)
		return errors.Is(err, os.ErrNotExist)
	})
	if found, err := leftovers(theirs); err != nil || len(found) > 0 {
		t.Errorf("left: %v, %v", found, err)
	}
}

// TestDie is what TestJanitor starts.
func TestDie(t *testing.T) {
	if os.Getenv(dieVariable) == "" {
		return
	}
	dir := mount(t, "--size", "16M")
	loop := attachments["losetup"](t, dir)
	if err := tryData(loop); err != nil {
		t.Error(err)
	}
	fmt.Println("dies in " + root)
	if err := unix.Kill(os.Getpid(), unix.SIGKILL); err != nil {
		t.Error(err)
	}
	time.Sleep(time.Minute)
}
