// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// A Namespace is the mount namespace of the command that made a device, for processes that have
// left it. nil stands for the namespace of the process itself. LeaveDirectory must not be called
// while Do is; calls of Do may be concurrent.
//
// The processes of a device hold the last references to its connection. Were they also the last of
// a mount namespace, their end would write the file systems in it back before the kernel closes
// the connection: one that lies on the device would wait for a server that has gone, and with it
// each sync(2) of the machine. So they move to another namespace and have this one open as a file:
// what the kernel does when it closes that file comes after all files of the process are closed.
type Namespace struct {
	itself    *os.File
	root      *os.File // the root directory of the command
	directory *os.File // its working directory, nil after LeaveDirectory
}

// NamespaceVariable has the descriptors of a Namespace, in the environment of its processes.
const NamespaceVariable = "ZRAMFS_NAMESPACE_FDS"

// LeaveNamespace has a keeper leave its mount namespace, unless that is the machine's first one,
// which does not end. It must be called before the process starts anything. Like [BecomeIOFlusher]
// it executes the program again, and returns in the second execution or where it does nothing. Of
// the descriptors that the process has inherited, the standard ones and the next kept ones stay.
//
// The protection is one that the device lacks; its name is empty where it lacks none.
func LeaveNamespace(kept int) (*Namespace, status.Protection, error) {
	if n, err := InheritedNamespace(); n != nil || err != nil {
		return n, status.Protection{}, err
	}
	if first, err := host.Local.InFirstMountNamespace(); first && err == nil {
		return nil, status.Protection{}, nil
	}
	runtime.LockOSThread()
	// Only the thread moves, which executes the program again.
	err := mayReturn()
	if err == nil {
		err = unix.CloseRange(uint(3+kept), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	}
	var descriptors string
	if err == nil {
		descriptors, err = openNamespace()
	}
	if err == nil {
		err = unix.Unshare(unix.CLONE_NEWNS)
	}
	if err != nil { // nothing has moved
		runtime.UnlockOSThread()
		return nil, status.Protection{Name: status.NameNamespace, State: status.Warn, Detail: "a file system on the device keeps sync(2) waiting once " +
			"this mount namespace has ended together with the device: leave the namespace: " + err.Error()}, nil
	}
	if err := forgetMounts(); err != nil {
		return nil, status.Protection{}, fmt.Errorf("leave the mount namespace: %w", err)
	}
	err = syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), NamespaceVariable+"="+descriptors))
	return nil, status.Protection{}, fmt.Errorf("execute the program again: %w", err)
}

// mayReturn fails where the process could not enter a namespace that it has left.
func mayReturn() error {
	for _, c := range []host.Capability{host.CapSysAdmin, host.CapSysChroot} {
		if has, err := host.Local.HasCapability(c); err != nil || !has {
			return errors.Join(err, errors.New("run with CAP_SYS_ADMIN and CAP_SYS_CHROOT"))
		}
	}
	return nil
}

// openNamespace opens the files of the thread's Namespace for the program that is executed next.
func openNamespace() (descriptors string, err error) {
	for i, path := range []string{"/proc/thread-self/ns/mnt", "/", "."} {
		flags := unix.O_RDONLY
		if i > 0 {
			flags = unix.O_PATH | unix.O_DIRECTORY
		}
		fd, err := unix.Open(path, flags, 0)
		if err != nil {
			return "", &os.PathError{Op: "open", Path: path, Err: err}
		}
		descriptors += "," + strconv.Itoa(fd)
	}
	return descriptors[1:], nil
}

// InheritedNamespace returns what the program executed before, or the keeper of a worker, has
// passed on; nil if that is nothing. A second call fails.
func InheritedNamespace() (*Namespace, error) {
	descriptors := os.Getenv(NamespaceVariable)
	if descriptors == "" {
		return nil, nil
	}
	var files []*os.File
	for text := range strings.SplitSeq(descriptors, ",") {
		fd, err := strconv.Atoi(text)
		if err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
		}
		if err != nil {
			return nil, fmt.Errorf("%s is %q: %w", NamespaceVariable, descriptors, err)
		}
		files = append(files, os.NewFile(uintptr(fd), "mount namespace"))
	}
	n := &Namespace{}
	for i, f := range []**os.File{&n.itself, &n.root, &n.directory}[:min(len(files), 3)] {
		*f = files[i]
	}
	if len(files) < 2 {
		return nil, fmt.Errorf("%s is %q: want two or three descriptors", NamespaceVariable, descriptors)
	}
	return n, nil
}

// Do calls f on a thread in the namespace and returns its error. Processes that f starts are there
// too. The thread's own entries below /proc are those of /proc/thread-self.
func (n *Namespace) Do(f func() error) error {
	if n == nil {
		return f()
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		err := n.enter()
		if err == nil {
			err = f()
		}
		result <- err
	}()
	return <-result
}

func (n *Namespace) enter() error {
	at := n.root
	if n.directory != nil {
		at = n.directory
	}
	err := unix.Unshare(unix.CLONE_FS) // else the kernel lets no thread have other mounts
	if err == nil {
		err = unix.Setns(int(n.itself.Fd()), unix.CLONE_NEWNS)
	}
	if err == nil {
		err = unix.Fchdir(int(n.root.Fd()))
	}
	if err == nil {
		err = unix.Chroot(".")
	}
	if err == nil {
		err = unix.Fchdir(int(at.Fd()))
	}
	if err != nil {
		return fmt.Errorf("enter the mount namespace of the command: %w", err)
	}
	return nil
}

// LeaveDirectory has the process and Do leave the working directory of the command: a file system
// with the working directory of a process cannot be unmounted.
func (n *Namespace) LeaveDirectory() error {
	err := unix.Chdir("/")
	if n != nil && n.directory != nil {
		err = errors.Join(err, n.directory.Close())
		n.directory = nil
	}
	return err
}

// Pass hands the namespace on to a process that cmd will start, behind its other descriptors. The
// first of these has the given number in that process.
func (n *Namespace) Pass(cmd *exec.Cmd, first int) {
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, NamespaceVariable+"=") })
	if n == nil {
		return
	}
	at := first + len(cmd.ExtraFiles)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d,%d", NamespaceVariable, at, at+1))
	cmd.ExtraFiles = append(cmd.ExtraFiles, n.itself, n.root)
}

// NamespaceOf returns the path of the mount namespace in which a device's process has its paths
// looked up, for setns(2), and the path of the root directory there. left reports whether the
// process has left it.
func NamespaceOf(pid int) (namespace, root string, left bool) {
	process := fmt.Sprintf("/proc/%d/", pid)
	environ, err := os.ReadFile(process + "environ")
	if err == nil { // else the process has ended, or is of another user
		for v := range strings.SplitSeq(string(environ), "\x00") {
			if text, ok := strings.CutPrefix(v, NamespaceVariable+"="); ok {
				itself, rest, _ := strings.Cut(text, ",")
				at, _, _ := strings.Cut(rest, ",")
				return process + "fd/" + itself, process + "fd/" + at, true
			}
		}
	}
	return process + "ns/mnt", process + "root", false
}
