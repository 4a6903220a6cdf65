// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// TestBinaryIsStatic looks for what a machine would need in addition to the kernel.
func TestBinaryIsStatic(t *testing.T) {
	for _, program := range []string{binary(t), serverBeside(binary(t))} {
		f, err := elf.Open(program)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
				t.Errorf("%s has a segment %v: it is not static", program, p.Type)
			}
		}
	}
}

// TestBinaryAlone runs the programs as the only files of a root directory, next to /proc, /sys,
// /dev/fuse and /dev/null, with an empty environment.
func TestBinaryAlone(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	program := binary(t)
	cmd := clientCommand(t.Context(), aloneClient, program, tempDir(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if r := runCommand(t, clientTimeout, cmd); r.Code != 0 || !strings.HasPrefix(r.Stdout, "zramfs ") {
		t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// aloneClient moves into such a root directory and uses a device there. It runs
// in a mount namespace of its own.
var aloneClient = register("alone", func(args []string) error {
	if err := enterBareRoot(args[0], args[1]); err != nil {
		return err
	}
	bare := func(args ...string) error {
		cmd := exec.Command("/zramfs", args...)
		cmd.Env = []string{}
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("zramfs %q: %w", args, err)
		}
		return nil
	}
	if err := bare("version"); err != nil {
		return err
	}
	if err := bare("mount", "--size", "16M", "/zram"); err != nil {
		return err
	}
	return errors.Join(tryData(data("/zram")), bare("list"), bare("umount", "/zram"))
})

// enterBareRoot makes root the root directory, with the programs and what they
// need of the kernel.
func enterBareRoot(program, root string) error {
	if err := unix.Mount("none", root, "tmpfs", 0, "size=64m,mode=755"); err != nil {
		return fmt.Errorf("mount tmpfs: %w", err)
	}
	if err := errors.Join(copyFile(filepath.Join(root, "zramfs"), program), copyFile(filepath.Join(root, "zramfsd"), serverBeside(program))); err != nil {
		return err
	}
	for _, dir := range []string{"proc", "sys", "dev"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	for dir, kind := range map[string]string{"proc": "proc", "sys": "sysfs"} {
		if err := unix.Mount("none", filepath.Join(root, dir), kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	// Numbers from Documentation/admin-guide/devices.txt.
	for name, number := range map[string]uint64{"null": unix.Mkdev(1, 3), "fuse": unix.Mkdev(10, 229)} {
		if err := unix.Mknod(filepath.Join(root, "dev", name), unix.S_IFCHR|0o666, int(number)); err != nil {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
	}
	if err := unix.Chroot(root); err != nil {
		return fmt.Errorf("change root: %w", err)
	}
	return os.Chdir("/")
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

// tryData writes to a device and reads it back.
func tryData(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	want := strings.Repeat("zramfs", 1000)
	if _, err := f.WriteAt([]byte(want), 3333); err != nil {
		return err
	}
	got := make([]byte, len(want))
	if _, err := f.ReadAt(got, 3333); err != nil {
		return err
	}
	if string(got) != want {
		return errors.New("what was read is not what was written")
	}
	return nil
}
