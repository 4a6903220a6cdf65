// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/integration/guest/boot"
)

// prepare is process 1 until the machine has its root file system; then another program takes its
// place.
func prepare() error {
	text, err := os.ReadFile(boot.OrderPath)
	if err != nil {
		return err
	}
	var order boot.Order
	if err := json.Unmarshal(text, &order); err != nil {
		return err
	}
	for _, m := range []struct{ kind, at string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/run"}} {
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	if err := modules(order); err != nil {
		return err
	}
	if err := copyFile(boot.AgentPath, "/proc/self/exe"); err != nil {
		return err
	}
	if order.Root != "" {
		if err := changeRoot(order.Root, order.Files); err != nil {
			return err
		}
	} else if out, err := exec.Command("/bin/busybox", "--install", "-s").CombinedOutput(); err != nil {
		return fmt.Errorf("install busybox: %w: %s", err, out)
	}
	if err := links(order.Links); err != nil {
		return err
	}
	argv := order.Init
	if len(argv) == 0 {
		argv = []string{boot.AgentPath, "init"}
	}
	return fmt.Errorf("start %s: %w", argv[0], unix.Exec(argv[0], argv, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "TERM=linux"}))
}

func links(all map[string]string) error {
	for path, target := range all {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path)); err != nil {
			return err
		}
	}
	return nil
}

func modules(order boot.Order) error {
	for _, path := range order.Modules {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(file.Fd()), "", 0)
		_ = file.Close() // it was read
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("load %s: %w", path, err)
		}
	}
	if order.Sealed {
		return os.WriteFile("/proc/sys/kernel/modules_disabled", []byte("1"), 0)
	}
	return nil
}

// changeRoot makes a device the root file system, moves files to it, and frees what the first one
// held.
func changeRoot(device string, files []string) error {
	const at = "/next" // no file lies there
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(device, at, "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s: %w", device, err)
	}
	for _, name := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at+name), 0o755), copyFile(at+name, name)); err != nil {
			return err
		}
	}
	keep := []string{"proc", "sys", "dev", "run"}
	for _, name := range keep {
		if err := unix.Mount("/"+name, at+"/"+name, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("move /%s: %w", name, err)
		}
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.Contains(append(keep, filepath.Base(at)), e.Name()) {
			if err := os.RemoveAll("/" + e.Name()); err != nil {
				return err
			}
		}
	}
	if err := os.Chdir(at); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return err
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return os.Chdir("/")
}

func copyFile(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer target.Close()
	if _, err := io.Copy(target, source); err != nil {
		return err
	}
	return target.Close()
}

// initProcess starts the agent's server, buries what becomes an orphan, and turns the machine off
// when the server ends.
func initProcess() error {
	server := exec.Command(boot.AgentPath, "serve")
	server.Stdout, server.Stderr = os.Stderr, os.Stderr
	if err := server.Start(); err != nil {
		return err
	}
	for {
		pid, err := unix.Wait4(-1, nil, 0, nil)
		if pid == server.Process.Pid {
			return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
