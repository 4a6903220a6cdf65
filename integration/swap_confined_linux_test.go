// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// confinement is an environment in which the program meets a refusal of the
// kernel that a machine of its own would not show it.
type confinement struct {
	// Groups are the directories of control groups to start in.
	Groups []string
	// Limits are resource limits, by their number.
	Limits map[int]unix.Rlimit
	// Cover puts files over others, path to what it shows, in a mount namespace of
	// its own, as containers do with files of /proc and /dev.
	Cover map[string]string
	// ReadOnly makes what is mounted at these places read-only, in a mount namespace
	// of its own, as containers do with control groups.
	ReadOnly []string
	// NoLock takes CAP_IPC_LOCK away and limits locked memory to 64 KiB, the usual
	// limit of an unprivileged process.
	NoLock bool
	// NoSwapon forbids swapon by a system call filter, as container runtimes do.
	NoSwapon bool
}

// confinedPart is the client that becomes a program in a confinement. Its
// arguments are the confinement, the program and the arguments of that.
var confinedPart = register("confined", func(args []string) error {
	var c confinement
	if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
		return err
	}
	// Some of what follows is a matter of the thread, which the new program keeps.
	runtime.LockOSThread()
	for _, step := range []func() error{c.join, c.cover, c.limit, c.forbidLock, c.forbidSwapon} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := os.Unsetenv(clientVariable); err != nil {
		return err
	}
	return syscall.Exec(args[1], args[1:], os.Environ())
})

// runConfined runs the program in a confinement.
func runConfined(t testing.TB, c confinement, args ...string) result {
	t.Helper()
	return runProgramConfined(t, c, binary(t), withoutZswap(args)...)
}

// runProgramConfined runs any program, by its path, in a confinement.
func runProgramConfined(t testing.TB, c confinement, program string, args ...string) result {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{string(text), program}, args...)
	return runCommand(t, commandTimeout, clientCommand(t.Context(), confinedPart, args...))
}

func (c confinement) join() error {
	for _, dir := range c.Groups {
		if err := joinGroup(dir); err != nil {
			return err
		}
	}
	return nil
}

func (c confinement) limit() error {
	for resource, limit := range c.Limits {
		if err := unix.Setrlimit(resource, &limit); err != nil {
			return fmt.Errorf("set resource limit %d: %w", resource, err)
		}
	}
	return nil
}

func (c confinement) cover() error {
	if len(c.Cover) == 0 && len(c.ReadOnly) == 0 {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	for path, by := range c.Cover {
		if err := unix.Mount(by, path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("cover %s: %w", path, err)
		}
	}
	for _, path := range c.ReadOnly {
		err := unix.Mount(path, path, "", unix.MS_BIND, "")
		if err == nil {
			err = unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
		}
		if err != nil {
			return fmt.Errorf("make %s read-only: %w", path, err)
		}
	}
	return nil
}

func (c confinement) forbidLock() error {
	if !c.NoLock {
		return nil
	}
	if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_IPC_LOCK, 0, 0, 0); err != nil {
		return fmt.Errorf("drop CAP_IPC_LOCK: %w", err)
	}
	return unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: 64 << 10, Max: 64 << 10})
}

// forbidSwapon installs a filter (seccomp(2)): the number of the system call is
// the first word that it sees.
func (c confinement) forbidSwapon() error {
	if !c.NoSwapon {
		return nil
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SWAPON, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	runtime.KeepAlive(filter)
	if err != nil {
		return fmt.Errorf("forbid swapon: %w", err)
	}
	return nil
}
