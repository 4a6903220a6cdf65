// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// commandTimeout bounds every command that touches a mount or a device.
const commandTimeout = 60 * time.Second

// A device is a block device that is measured. All fields are immutable once it is
// set up.
type device struct {
	// name heads the device's column.
	name string
	// what describes it in a line.
	what string
	// path is the block device.
	path string
	// mmStat is the path of its mm_stat, or empty where there is none.
	mmStat string
	// took is how long it took to make it, with swap on.
	took time.Duration
	// server is the path of the program that serves it, empty where the kernel does.
	server string
}

// openPlain checks that a block device may be overwritten.
func openPlain(path string) (*device, error) {
	// O_EXCL refuses a device that is mounted or in use as swap.
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_EXCL, 0)
	if err != nil {
		return nil, fmt.Errorf("take device: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("take device: %w", err)
	}
	if info.Mode()&os.ModeDevice == 0 || info.Mode()&os.ModeCharDevice != 0 {
		return nil, fmt.Errorf("take device: %s is no block device", path)
	}
	return &device{name: filepath.Base(path), what: path, path: path}, nil
}

// mountZramfs starts zramfs as a contestant says and attaches a loop device to its
// data file.
func mountZramfs(opts options, one contestant, made *cleanup) (*device, error) {
	dir, err := one.place(made)
	if err != nil {
		return nil, err
	}
	made.add(func() error { // before the start, which may be killed in the middle of it
		// It ends by itself when its data file is no longer reachable.
		return retry(func() error {
			_, err := command(one.binary, "umount", dir)
			if _, gone := os.Lstat(dir); errors.Is(gone, os.ErrNotExist) {
				return nil
			}
			return err
		})
	})
	if err := one.start(opts, dir, "mount"); err != nil {
		return nil, err
	}
	what, err := one.describe(dir)
	if err != nil {
		return nil, err
	}
	loop, err := command("losetup", "--direct-io=on", "--sector-size", "4096", "-f", "--show", filepath.Join(dir, "dev/zram0"))
	if err != nil {
		return nil, err
	}
	made.add(func() error { return detach(loop) })
	return &device{
		name: one.name, what: what + ", on " + loop, path: loop,
		mmStat: filepath.Join(dir, mmStat), server: one.program(),
	}, nil
}

// mmStat is where a device's memory figures lie below its directory.
const mmStat = "block/zram0/mm_stat"

// place returns a directory that zramfs can make for its mount.
func (c contestant) place(made *cleanup) (dir string, err error) {
	parent, err := os.MkdirTemp("", "zramfs-bench-")
	if err != nil {
		return "", fmt.Errorf("make mount point: %w", err)
	}
	made.add(func() error { return os.Remove(parent) })
	return filepath.Join(parent, "zram"), nil
}

// start runs a subcommand that makes a device at dir.
func (c contestant) start(opts options, dir string, subcommand ...string) error {
	args := append(subcommand, "--size", strconv.FormatInt(opts.size, 10))
	if opts.algorithm != "" {
		args = append(args, "--algorithm", opts.algorithm)
	}
	_, err := command(c.binary, append(append(args, c.flags...), dir)...)
	return err
}

// describe says what runs at dir.
func (c contestant) describe(dir string) (string, error) {
	version, err := command(c.binary, "version")
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, "block/zram0/comp_algorithm"))
	if err != nil {
		return "", fmt.Errorf("read algorithm of zramfs: %w", err)
	}
	first, _, _ := strings.Cut(version, "\n")
	return first + ", " + chosen(string(text)) + c.says(), nil
}

// chosen returns the bracketed name in what comp_algorithm holds, as in
// "lzo [lz4] zstd", or all of it when there is none.
func chosen(text string) string {
	if _, rest, ok := strings.Cut(text, "["); ok {
		if name, _, ok := strings.Cut(rest, "]"); ok {
			return name
		}
	}
	return strings.TrimSpace(text)
}

// detach detaches a loop device and waits until the kernel has let its file go.
func detach(loop string) error {
	if _, err := command("losetup", "-d", loop); err != nil {
		return err
	}
	backing := filepath.Join("/sys/block", filepath.Base(loop), "loop/backing_file")
	return retry(func() error {
		if _, err := os.Stat(backing); err == nil {
			return fmt.Errorf("detach %s: still attached", loop)
		}
		return nil
	})
}

// zramName heads the column of the kernel's device.
const zramName = "zram"

// zramControl adds and removes the kernel's devices
// (Documentation/admin-guide/blockdev/zram.rst).
const zramControl = "/sys/class/zram-control"

// addZram makes a kernel zram device with lz4.
func addZram(size int64, made *cleanup) (*device, error) {
	added, err := os.ReadFile(filepath.Join(zramControl, "hot_add"))
	if err != nil {
		return nil, fmt.Errorf("add kernel zram: %w (modprobe zram, or -anchor none)", err)
	}
	id := strings.TrimSpace(string(added))
	made.add(func() error {
		err := retry(func() error { return os.WriteFile(filepath.Join(zramControl, "hot_remove"), []byte(id), 0) })
		if err != nil {
			return fmt.Errorf("remove /dev/zram%s: %w", id, err)
		}
		return nil
	})
	attributes := "/sys/block/zram" + id
	if err := os.WriteFile(attributes+"/comp_algorithm", []byte("lz4"), 0); err != nil {
		return nil, fmt.Errorf("choose lz4 for kernel zram: %w (this kernel lacks it; use -anchor none)", err)
	}
	if err := os.WriteFile(attributes+"/disksize", []byte(strconv.FormatInt(size, 10)), 0); err != nil {
		return nil, fmt.Errorf("size kernel zram: %w", err)
	}
	path := "/dev/zram" + id
	if err := retry(func() error { _, err := os.Stat(path); return err }); err != nil {
		return nil, fmt.Errorf("wait for kernel zram: %w", err)
	}
	return &device{name: zramName, what: "kernel zram, lz4, on " + path, path: path, mmStat: attributes + "/mm_stat"}, nil
}

// command runs a program to its end, even if this process is interrupted, and returns its output.
// Its own process group keeps an interrupt typed at the terminal away from it: half a mount would
// be harder to undo than a whole one.
func command(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A daemon that the command leaves behind may hold its output open.
	cmd.WaitDelay = time.Second
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "", fmt.Errorf("run %s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// sizeOf returns the size of a block device in bytes.
func sizeOf(path string) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("size device: %w", err)
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, fmt.Errorf("size %s: %w", path, err)
	}
	return size, nil
}
