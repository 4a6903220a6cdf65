// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// peeker is a process that does peek.
func peeker(what string) *exec.Cmd {
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), peekVariable+"="+what)
	return command
}

// output runs a command for a while and returns what it printed.
func output(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	var out, diagnosis bytes.Buffer
	command.Stdout, command.Stderr = &out, &diagnosis
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(deviceLife+patience, func() {
		if err := command.Process.Kill(); err != nil {
			t.Error(err)
		}
	})
	defer limit.Stop()
	if err := command.Wait(); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &diagnosis)
	}
	return out.String()
}

// peek reports what its user may do: mount, or in the directory that is
// descriptor 3.
func peek() error {
	if dir, ok := strings.CutPrefix(os.Getenv(peekVariable), "mount "); ok {
		return mountAndUnmount(dir)
	}
	const dir = 3
	report := func(what string, err error) { fmt.Printf("%s: %v\n", what, err) }
	open := func(path string, flags int) error {
		fd, err := unix.Openat(dir, path, flags, 0)
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	}
	report("list", open(".", unix.O_RDONLY|unix.O_DIRECTORY))
	report("read dev/zram0", open("dev/zram0", unix.O_RDONLY))
	report("write dev/zram0", open("dev/zram0", unix.O_WRONLY))
	report("read block/zram0/mm_stat", open("block/zram0/mm_stat", unix.O_RDONLY))
	report("write block/zram0/mm_stat", open("block/zram0/mm_stat", unix.O_WRONLY))
	report("read control/status", open("control/status", unix.O_RDONLY))
	return nil
}

// mountAndUnmount reports what making and closing a session says to this process.
func mountAndUnmount(dir string) error {
	session, err := NewSession(dir, false, nil)
	fmt.Println(err)
	if err == nil {
		fmt.Println(session.Close())
	}
	return nil
}
