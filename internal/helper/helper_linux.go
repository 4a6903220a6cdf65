// SPDX-License-Identifier: Apache-2.0

// Package helper makes calls that may never return, each in another process with a time limit.
//
// A process whose request a stopped server has read does not end before the answer, even when
// killed: a command that made the call itself could not end either. The program calls [Run] first
// of all, which makes the call in the process that [Call] has started.
package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/prefetch"
	"github.com/zramfs/zramfs/loopsetup"
)

const (
	// word is the first argument of a process that makes one call for a command.
	word = "--helper"
	// AnswerTime is how long a command waits for all serving processes. A healthy one answers in
	// milliseconds even under load, since status takes no lock of the page path.
	AnswerTime = time.Second
	// endTime bounds the wait for a process that has answered to end.
	endTime = 300 * time.Millisecond
)

// ErrNoAnswer means that a serving process does not answer: it is stopped, stuck or starved.
var ErrNoAnswer = errors.New("it does not answer")

// An answer is the output of the process that makes the call.
type answer struct {
	Text  []byte        `json:"text,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"`
	Error string        `json:"error,omitempty"`
}

// An Op names a call that may wait for a serving process.
type Op string

// The calls. The first argument of each but ReadAhead and Prefetching is a path.
const (
	Read    Op = "read"    // returns the contents of a file
	Write   Op = "write"   // writes the second argument to an existing file
	Open    Op = "open"    // opens a file and closes it again
	Unmount Op = "unmount" // unmounts a file system that is not in use
	Detach  Op = "detach"  // detaches a mount even if it is in use
	SwapOff Op = "swapoff" // turns a swap area off
	// ReadAhead has the kernel read swapped pages of all processes ahead, without those that serve
	// swap, whose names are the arguments; it returns the [prefetch.Report] as JSON.
	ReadAhead Op = "read-ahead"
	// Prefetching is for [Prefetch] alone, which says what in standard input.
	Probe Op = "probe" // reads a loop device; returns the [FileSystem] of its file as JSON
	// Claimed returns as JSON, for each loop device among the arguments, [loopsetup.Claimed].
	Claimed Op = "claimed"
	List    Op = "list" // returns the [Entry]s of a directory as JSON
	// Resize gives a loop device the size that its file, the second argument, has now.
	Resize Op = "resize"
)

var calls = map[Op]func(args []string) ([]byte, error){
	Read:    func(args []string) ([]byte, error) { return readFile(args[0]) },
	Write:   func(args []string) ([]byte, error) { return nil, writeExisting(args[0], args[1]) },
	Open:    func(args []string) ([]byte, error) { return nil, openOnce(args[0]) },
	Unmount: func(args []string) ([]byte, error) { return nil, unmountLooked(args[0]) },
	Detach: func(args []string) ([]byte, error) {
		return nil, unix.Unmount(args[0], unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	},
	SwapOff:   func(args []string) ([]byte, error) { return nil, loopsetup.SwapOff(args[0]) },
	ReadAhead: readAhead,
	Probe:     func(args []string) ([]byte, error) { return probeLoop(args[0]) },
	Claimed:   claimed,
	List:      func(args []string) ([]byte, error) { return list(args[0]) },
	Resize:    func(args []string) ([]byte, error) { return nil, loopsetup.Resize(args[0], args[1]) },
}

// Call makes a call in another process and kills that when ctx ends; the error is ErrNoAnswer then.
// While such a process of a Read or Probe has not ended, the same call waits for that.
// Other errors of the call keep their number: errors.Is knows a syscall.Errno.
func Call(ctx context.Context, op Op, args ...string) ([]byte, error) {
	return call(ctx, files{}, op, args...)
}

// files are the open files of a process that makes a call, apart from its output; nil for none.
type files struct{ in, progress *os.File }

// close closes the files here; the process has its own.
func (f files) close() { _, _ = f.in.Close(), f.progress.Close() } // nothing was written here; nil ones give an error

// call is Call with open files for the process, which it closes here.
func call(ctx context.Context, theirs files, op Op, args ...string) ([]byte, error) {
	key := keyOf(op, args)
	if !left.wait(ctx, key) {
		theirs.close()
		return nil, ErrNoAnswer
	}
	r, w, err := os.Pipe()
	if err != nil {
		theirs.close()
		return nil, err
	}
	defer func() { _ = r.Close() }() // read only
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: append([]string{"zramfs", word, string(op)}, args...), Dir: "/", Stdout: w,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	if theirs.in != nil {
		cmd.Stdin, cmd.ExtraFiles = theirs.in, []*os.File{theirs.progress}
	}
	err = cmd.Start()
	_ = w.Close() // the process has its own
	theirs.close()
	if err != nil {
		return nil, fmt.Errorf("start a process for %s: %w", op, err)
	}
	stop := context.AfterFunc(ctx, func() {
		_ = cmd.Process.Kill()                 // it may have ended
		_ = r.SetReadDeadline(time.Unix(1, 0)) // it may not end
	})
	defer stop()
	var a answer
	err = json.NewDecoder(r).Decode(&a)
	gone := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it has answered, or is abandoned
		close(gone)
	}()
	if err == nil {
		select { // it ends at once, unless the machine is busy
		case <-gone:
		case <-time.After(endTime):
		}
	}
	switch {
	case err == nil:
		return a.Text, a.err()
	case ctx.Err() != nil:
		left.note(key, gone, time.Now())
		return nil, ErrNoAnswer
	}
	return nil, fmt.Errorf("the process for %s was killed", op)
}

// CallTimeout is aside with a time limit.
func CallTimeout(limit time.Duration, op Op, args ...string) ([]byte, error) {
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	return Call(ctx, op, args...)
}

// err returns the error of the call. errors.Is knows it by its number.
func (a answer) err() error {
	switch {
	case a.Error == "":
		return nil
	case a.Errno == 0:
		return errors.New(a.Error)
	}
	return &callError{a.Error, a.Errno}
}

// callError is the error of a call in another process.
type callError struct {
	text  string
	errno syscall.Errno
}

func (e *callError) Error() string { return e.text }
func (e *callError) Unwrap() error { return e.errno }

// Run makes the call if this process was started for one, writes the outcome to out and returns
// true; the process is to end then. It returns false if the arguments are of any other process.
func Run(args []string, out io.Writer) bool {
	if len(args) < 4 || args[1] != word || calls[Op(args[2])] == nil {
		return false
	}
	_ = os.WriteFile("/proc/self/comm", []byte("zramfs-aside"), 0) // for ps
	var a answer
	var err error
	if a.Text, err = calls[Op(args[2])](args[3:]); err != nil {
		a.Error = err.Error()
		_ = errors.As(err, &a.Errno)
	}
	_ = json.NewEncoder(out).Encode(a) // the command may have ended
	return true
}

const pageSize = 4096 // bytes

// readAhead prefetches for swapoff. Where memory is too short after all, the kernel is to kill this
// process first, as it does with one that calls swapoff.
func readAhead(serving []string) ([]byte, error) {
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0); err != nil {
		return nil, err
	}
	r, err := prefetch.Run(context.Background(), serving...)
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// open opens a file whose calls wait in the kernel. os.Open makes the poller of the runtime wait
// for an attribute: where a call fails with EAGAIN, as while the device is at work for another
// command, it would wait for an event that never comes.
func open(path string, flags int) (*os.File, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case !errors.Is(err, unix.EINTR):
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// readFile returns the contents of a file.
func readFile(path string) ([]byte, error) {
	f, err := open(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	text, err := readAtOnce(f)
	return text, errors.Join(err, f.Close())
}

// attributeMost is more than any attribute of a device has, in bytes.
const attributeMost = 256 << 10

// readAtOnce reads all by one call, if that can be: between two, another worker may take over, and
// go on with another text from the same place.
func readAtOnce(f io.Reader) ([]byte, error) {
	text := make([]byte, attributeMost)
	n, err := f.Read(text)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil || n < len(text):
		return text[:n], err
	}
	rest, err := io.ReadAll(f)
	return append(text, rest...), err
}

// writeExisting writes to an existing file.
func writeExisting(path, text string) error {
	f, err := open(path, unix.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// openOnce opens path and closes it again.
func openOnce(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// unmountLooked unmounts path. It looks path up first, which may take a request: if the command
// gives up in that time, it kills this process, and nothing is unmounted.
func unmountLooked(path string) error {
	var st unix.Statx_t
	const flags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_STATX_DONT_SYNC // looks path up without asking for attributes
	if err := unix.Statx(unix.AT_FDCWD, path, flags, 0, &st); err != nil && !errors.Is(err, unix.ENOTCONN) && !errors.Is(err, unix.ECONNABORTED) {
		return err
	}
	return unix.Unmount(path, unix.UMOUNT_NOFOLLOW)
}

// probeLoop returns the file system of a loop device's file. The error is EIO if no process serves
// it.
func probeLoop(dev string) ([]byte, error) {
	id, name, err := loopsetup.Identify(dev)
	if err != nil {
		return nil, err
	}
	f := FileSystem{Major: unix.Major(id.Device), Minor: unix.Minor(id.Device), Name: name}
	fd, err := unix.Open(dev, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err == nil {
		var page []byte
		if page, err = unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE); err == nil {
			_, err = unix.Pread(fd, page, 0)
			f.Swap = loopsetup.HasSwapHeader(page)
		}
		err = errors.Join(err, unix.Close(fd))
	}
	text, merr := json.Marshal(f)
	return text, errors.Join(err, merr)
}

// claimed is for [Claimed].
func claimed(devs []string) ([]byte, error) {
	all := make([]bool, len(devs))
	for i, dev := range devs {
		var err error
		if all[i], err = loopsetup.Claimed(dev); err != nil {
			return nil, err
		}
	}
	return json.Marshal(all)
}

// A FileSystem is the number of a file system (st_dev), with the name of a loop device's file; see
// [loopsetup.Identify].
type FileSystem struct {
	Major, Minor uint32
	Name         string
	Swap         bool // it begins with a swap header
}
