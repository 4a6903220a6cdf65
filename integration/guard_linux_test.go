// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/loopsetup"
)

const (
	// guardLimit is how long swap may stay on whatever happens to the test.
	guardLimit = 75 * time.Second
	// guardPatience is how long the guard lets a swapoff take.
	guardPatience = 20 * time.Second
	// goodBye tells the guard that it is no longer needed. The end of its input without this byte
	// means that the test has died.
	goodBye = 'b'
	// guardReady and guardActed are the lines that the guard prints.
	guardReady = "ready"
	guardActed = "acted"
)

// guardPart is the client that ends the swap on one device when the test cannot: because it hangs,
// was killed, or the device does not answer and every process that touches a page waits for it. Its
// arguments are DIR and how long to wait.
var guardPart = register("guard", func(args []string) error {
	limit, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	g, err := newGuard(args[0])
	if err != nil {
		return err
	}
	fmt.Println(guardReady)
	if dismissed(limit) {
		return nil
	}
	err = g.act()
	fmt.Println(guardActed) // at the end only: the reader may be gone
	return err
})

// dismissed waits for the good-bye byte. It returns false when the other end of
// the input is closed without it, or after limit.
func dismissed(limit time.Duration) bool {
	heard := make(chan bool, 1)
	go func() {
		var b [1]byte
		n, _ := os.Stdin.Read(b[:])
		heard <- n == 1 && b[0] == goodBye
	}()
	select {
	case good := <-heard:
		return good
	case <-time.After(limit):
		return false
	}
}

// guard is what the process needs when nothing else may work. It never opens anything below the
// mount: all it knows comes from /proc and /sys.
type guard struct {
	dir         string
	connections int // the root of a control file system of FUSE, open
}

// newGuard locks the process in memory, so that it does not wait for a page from
// the device that it is to end, and rehearses: what has run once is there.
func newGuard(dir string) (*guard, error) {
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE); err != nil {
		return nil, fmt.Errorf("lock memory: %w", err)
	}
	g := &guard{dir: dir}
	var err error
	if g.connections, err = openConnections(); err != nil {
		return nil, err
	}
	if err := g.turnOff(); err != nil {
		return nil, fmt.Errorf("rehearse: %w", err)
	}
	if err := loopsetup.SwapOff(os.DevNull); !errors.Is(err, loopsetup.ErrNotSwap) {
		return nil, fmt.Errorf("rehearse: %w", err)
	}
	if err := g.abort("rehearsal"); !errors.Is(err, unix.ENOENT) {
		return nil, fmt.Errorf("rehearse: abort of no connection: %w", err)
	}
	_, err = g.connection()
	return g, err
}

// openConnections opens the file system that ends FUSE connections. It is
// mounted nowhere, so that nothing of it stays behind.
func openConnections() (int, error) {
	fs, err := unix.Fsopen("fusectl", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("open fusectl: %w", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("make fusectl: %w", err)
	}
	root, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("mount fusectl: %w", err)
	}
	return root, nil
}

// act turns swap off, as long as the server answers; then it ends the connection, which ends every
// waiting request; then it turns off the remaining areas: the pages there are lost, but the machine
// goes on.
func (g *guard) act() error {
	first := g.turnOff()
	connection, err := g.connection()
	if err == nil && connection != "" {
		err = g.abort(connection)
	}
	second := g.turnOff()
	if second != nil {
		second = errors.Join(first, second)
	}
	return errors.Join(err, second)
}

// turnOff turns off all swap on the device, in at most guardPatience. A swapoff
// that hangs is left in its thread.
func (g *guard) turnOff() error {
	done := make(chan error, 1)
	go func() { done <- g.turnOffAll(time.Now().Add(guardPatience)) }()
	select {
	case err := <-done:
		return err
	case <-time.After(guardPatience):
		return fmt.Errorf("swap on %s is still on after %s", g.dir, guardPatience)
	}
}

// turnOffAll asks the kernel again while an area is on: a swapoff that is under
// way in another process lets this one fail at once.
func (g *guard) turnOffAll(end time.Time) error {
	for ; ; time.Sleep(20 * time.Millisecond) {
		on, err := swapOn(g.dir)
		if err != nil || len(on) == 0 {
			return err
		}
		for _, area := range on {
			err = errors.Join(err, loopsetup.SwapOff(area.Path))
		}
		if err != nil && time.Now().After(end) {
			return err
		}
	}
}

// swapOn returns the swap areas on the device at dir, and those on files below its parent: suites
// of others put file systems on the device, mount them there and swap to their files.
func swapOn(dir string) ([]loopsetup.Swap, error) {
	loops, err := loopsOn(dir)
	if err != nil {
		return nil, err
	}
	areas, err := loopsetup.Swaps()
	near := filepath.Dir(dir) + "/"
	return slices.DeleteFunc(areas, func(a loopsetup.Swap) bool {
		return !slices.Contains(loops, a.Path) && !strings.HasPrefix(a.Path, near)
	}), err
}

// identifyTime bounds a question that goes to the kernel, and could go on to a
// server that hangs.
const identifyTime = time.Second

// connection returns the number of the FUSE connection that serves the data file,
// which is the minor number of the file system; empty when there is none. A data
// file that is hidden has a loop device on it.
func (g *guard) connection() (string, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(filepath.Dir(data(g.dir))))
	if err != nil {
		return "", err
	}
	if len(mounts) > 0 && strings.HasPrefix(mounts[0].FSType, "fuse") {
		return strconv.Itoa(mounts[0].Minor), nil
	}
	loops, err := loopsOn(g.dir)
	if err != nil || len(loops) == 0 {
		return "", err
	}
	type answer struct {
		id  loopsetup.FileID
		err error
	}
	said := make(chan answer, 1)
	go func() {
		id, _, err := loopsetup.Identify(loops[0])
		said <- answer{id, err}
	}()
	select {
	case a := <-said:
		return strconv.Itoa(int(unix.Minor(a.id.Device))), a.err
	case <-time.After(identifyTime):
		return "", fmt.Errorf("%s does not say what it is on", loops[0])
	}
}

// abort ends a connection: every request fails, now and later, and the server
// reads no more of them.
func (g *guard) abort(connection string) error {
	fd, err := unix.Openat(g.connections, connection+"/abort", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open abort of connection %s: %w", connection, err)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte("1")); err != nil {
		return fmt.Errorf("abort connection %s: %w", connection, err)
	}
	return nil
}

// guardProcess is a guard as its test sees it.
type guardProcess struct {
	cmd  *exec.Cmd
	life io.WriteCloser // closed without a good-bye it makes the guard act
	said *bufio.Reader
}

// startGuard starts a guard of the device that is or will be at dir and returns when it is ready.
// The caller ends it.
func startGuard(t testing.TB, dir string, limit time.Duration) *guardProcess {
	t.Helper()
	g := &guardProcess{cmd: clientCommand(context.Background(), guardPart, dir, limit.String())}
	// A terminal that is closed, or an interrupt from it, is not for the guard.
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	g.cmd.Stderr = os.Stderr
	var err error
	if g.life, err = g.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	g.said = bufio.NewReader(out)
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := g.said.ReadString('\n'); line != guardReady+"\n" {
		t.Fatalf("the guard is not ready: %q, %v, %v", line, err, g.cmd.Wait())
	}
	return g
}

// dismiss ends a guard that was not needed.
func (g *guardProcess) dismiss(t testing.TB) {
	t.Helper()
	if _, err := g.life.Write([]byte{goodBye}); err != nil {
		t.Errorf("the guard had acted, or was gone: %v", err)
	}
	if acted, err := g.wait(); acted || err != nil {
		t.Errorf("the dismissed guard acted: %t, %v", acted, err)
	}
}

// wait waits for the end of a guard and says whether it had acted.
func (g *guardProcess) wait() (acted bool, err error) {
	rest, err := io.ReadAll(g.said)
	return string(rest) == guardActed+"\n", errors.Join(err, g.cmd.Wait())
}
