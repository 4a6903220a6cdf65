// SPDX-License-Identifier: Apache-2.0

package onhost

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Namespaces of process 1 that a thread enters. The mount namespace is the last one: its /proc may
// show other processes.
var (
	everywhere = []string{"cgroup", "ipc", "uts"}
	network    = []string{"net"}
)

// check reports whether process 1 is the first process of the node.
func check() error {
	name, err := os.ReadFile("/proc/1/comm")
	switch {
	case err != nil:
		return err
	case os.Getpid() == 1, strings.TrimSpace(string(name)) == "pause": // of this pod
		return ErrNoHostPID
	}
	return nil
}

// enter moves the calling thread, which is locked, to namespaces of process 1. The thread can no
// longer be used for anything else.
func enter(names ...string) error {
	if err := check(); err != nil {
		return err
	}
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close() // only opened to name a namespace
		}
	}()
	for _, name := range append(names, "mnt") { // opened before /proc is another
		f, err := os.Open("/proc/1/ns/" + name)
		if errors.Is(err, os.ErrNotExist) {
			continue // as without CONFIG_CGROUPS
		}
		if err != nil {
			return fmt.Errorf("%w: the pod has to be privileged", err)
		}
		files = append(files, f)
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // threads share root and working directory
		return fmt.Errorf("unshare: %w", err)
	}
	for _, f := range files {
		if err := unix.Setns(int(f.Fd()), 0); err != nil {
			return fmt.Errorf("enter %s: %w", f.Name(), err)
		}
	}
	return os.Chdir("/")
}

// Within calls f on a thread in the mount namespace of the node, and returns its error. Files that
// f opens are those of the node, and so are programs that it starts. f must not start goroutines
// that open files.
func Within(f func() error) error {
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := enter(everywhere...)
		if err == nil {
			err = f()
		}
		ended <- err
	}()
	return <-ended
}

// Exec replaces this process by a program of the node, in the namespaces of the node and with this
// process' network. It returns only if that fails.
func Exec(program string, args ...string) error {
	runtime.LockOSThread()
	if err := enter(everywhere...); err != nil {
		return err
	}
	return execute(program, args)
}

// ExecOutside is Exec for a program that outlives the pod: it also leaves the pod's control group
// for one of the node, and the pod's network.
func ExecOutside(program string, args ...string) error {
	runtime.LockOSThread()
	if err := enter(append(everywhere, network...)...); err != nil {
		return err
	}
	if err := leaveGroup(); err != nil {
		return err
	}
	return execute(program, args)
}

func execute(program string, args []string) error {
	err := syscall.Exec(program, append([]string{program}, args...), environment())
	if errors.Is(err, os.ErrNotExist) {
		err = ErrNoProgram
	}
	return fmt.Errorf("run %s on the node: %w", program, err)
}

// environment is that of this process with the node's PATH.
func environment() []string {
	others := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PATH=") })
	return append(others, "PATH="+Path)
}
