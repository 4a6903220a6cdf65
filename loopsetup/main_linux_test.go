// SPDX-License-Identifier: Apache-2.0

package loopsetup_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/loopsetup"
)

// childVariable makes the test binary play a part in a process of its own instead of running tests;
// its value is the part, a space, and the part's argument.
const childVariable = "ZRAMFS_LOOPSETUP_CHILD"

// guardTimeout is how long a swap area may stay on before the guard takes it off.
const guardTimeout = 30 * time.Second

func TestMain(m *testing.M) {
	part, arg, _ := strings.Cut(os.Getenv(childVariable), " ")
	var err error
	switch part {
	case "":
		os.Exit(m.Run())
	case "guard":
		err = guard(arg)
	case "attach":
		err = attachAndWait(arg)
	case "bare":
		err = attachInBareContainer(arg)
	case "nosys":
		err = attachWithReadOnlySys(arg)
	case "swapped":
		err = holdSwappedPages()
	case "nobody":
		err = lookWithoutPrivilege(arg)
	default:
		err = errors.New("no such part")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", part, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child returns a command that runs this binary in another part. The path is that of the running
// program itself, so that another user can run it even where the directory is closed to him.
func child(part, arg string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childVariable+"="+part+" "+arg)
	cmd.Stderr = os.Stderr
	return cmd
}

// startGuard starts a process that takes swap off dev, and returns when it is ready: locked in
// memory, so that it does not need a page from the swap area it is to take off. The guard acts
// after guardTimeout, or as soon as this process dies. The test ends it.
func startGuard(t *testing.T, dev string) {
	t.Helper()
	cmd := child("guard", dev)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	waitReady(t, cmd)
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Errorf("the guard was gone: %v", err)
		}
		_ = cmd.Wait() // says that it was killed
	})
}

// waitReady starts a child and waits for the line that it prints when it is ready. The child is
// killed when the test ends early.
func waitReady(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var line string
	if _, err := fmt.Fscanln(out, &line); err != nil {
		_ = cmd.Process.Kill()
		t.Fatalf("child is not ready: %v, %v", err, cmd.Wait())
	}
	return line
}

// guard is the part of that name.
func guard(dev string) error {
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
		return fmt.Errorf("lock memory: %w", err)
	}
	// Only used memory is locked, so the guard rehearses.
	if err := loopsetup.SwapOff(os.DevNull); !errors.Is(err, loopsetup.ErrNotSwap) {
		return fmt.Errorf("rehearse: %w", err)
	}
	fmt.Println("ready")
	parentGone := make(chan struct{})
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // nothing is ever sent: it returns when the other end is closed
		close(parentGone)
	}()
	select {
	case <-time.After(guardTimeout):
	case <-parentGone:
	}
	if err := loopsetup.SwapOff(dev); err != nil && !errors.Is(err, loopsetup.ErrNotSwap) {
		return err
	}
	return nil
}

// attachAndWait attaches a device, prints its path and waits to be killed.
func attachAndWait(backing string) error {
	dev, err := loopsetup.Attach(backing, nil)
	if err != nil {
		return err
	}
	fmt.Println(dev.Path())
	time.Sleep(guardTimeout)
	return fmt.Errorf("nobody killed the holder of %s", dev.Path())
}

// swappedSize is how much of its memory the part "swapped" sends to swap.
const swappedSize = 4 << 20

// holdSwappedPages fills pages, sends them to swap, and checks them when the other end of its input
// is closed.
func holdSwappedPages() error {
	pages, err := unix.Mmap(-1, 0, swappedSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	random := rand.NewChaCha8([32]byte{})
	want := make([]byte, swappedSize)
	if _, err := random.Read(want); err != nil {
		return err
	}
	copy(pages, want)
	if err := unix.Madvise(pages, unix.MADV_PAGEOUT); err != nil {
		return fmt.Errorf("page out: %w", err)
	}
	fmt.Println("ready")
	if _, err := os.Stdin.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("wait for the end of input: %w", err)
	}
	if !bytes.Equal(pages, want) {
		return errors.New("the pages came back changed")
	}
	return nil
}

// attachInBareContainer attaches a device in a mount namespace whose /dev is empty, as in a
// container without udev.
func attachInBareContainer(backing string) (err error) {
	if err := unix.Mount("none", "/dev", "tmpfs", 0, "size=64k"); err != nil {
		return fmt.Errorf("empty /dev: %w", err)
	}
	dev, err := loopsetup.Attach(backing, nil)
	if err != nil {
		return err
	}
	info, err := os.Stat(dev.Path())
	if err == nil && info.Mode() != fs.ModeDevice|0o600 {
		err = fmt.Errorf("%s has mode %v", dev.Path(), info.Mode())
	}
	return errors.Join(err, dev.Close())
}

// attachWithReadOnlySys attaches a device where nothing in /sys can be changed, and prints the
// warnings.
func attachWithReadOnlySys(backing string) error {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("", "/sys", "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("make /sys read-only: %w", err)
	}
	dev, err := loopsetup.Attach(backing, &loopsetup.Config{DiscardMax: 3 << 20})
	if err != nil {
		return err
	}
	for _, w := range dev.Warnings() {
		fmt.Println(w)
	}
	return dev.Close()
}

// inMountNamespace makes cmd run where its mounts stay its own.
func inMountNamespace(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return cmd
}

// lookWithoutPrivilege does what an ordinary user may; arg is "device file". It runs with such a
// user's credentials.
func lookWithoutPrivilege(arg string) error {
	dev, backing, _ := strings.Cut(arg, " ")
	if os.Geteuid() == 0 {
		return errors.New("still root")
	}
	info, err := loopsetup.Inspect(dev)
	if err != nil {
		return err
	}
	if info.Backing != backing || !info.DirectIO || !info.Autoclear || info.BlockSize != 4096 {
		return fmt.Errorf("sees %+v", info)
	}
	if devs, err := loopsetup.Find(backing); err != nil || len(devs) != 1 || devs[0] != dev {
		return fmt.Errorf("finds %v, %w", devs, err)
	}
	if _, err := loopsetup.Swaps(); err != nil {
		return err
	}
	own, err := os.CreateTemp("", "zramfs-loopsetup-")
	if err != nil {
		return err
	}
	defer os.Remove(own.Name())
	_, attachErr := loopsetup.Attach(own.Name(), nil)
	for _, err := range []error{attachErr, loopsetup.Detach(dev), loopsetup.SwapOn(dev, 0, ""), loopsetup.SwapOff(dev)} {
		if !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "\n") {
			return fmt.Errorf("not refused clearly: %w", err)
		}
	}
	return nil
}

// asNobody makes cmd run without privilege.
func asNobody(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return cmd
}
