// SPDX-License-Identifier: Apache-2.0

package zramview

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/zramfs/zramfs/internal/helper"
)

// The programs that scripts load, unload and look for the zram module with.
const (
	modprobe = "modprobe"
	rmmod    = "rmmod"
	lsmod    = "lsmod"
)

// standIns are the programs that this one stands in for in a namespace.
var standIns = []string{modprobe, rmmod, lsmod}

// StandIn does what modprobe, rmmod or lsmod would do with the module zram, if this program was
// started in a namespace in its place; ours is false otherwise. For other modules it executes the
// machine's program. Loading makes as many devices as num_devices says, and unloading resets them
// all: it fails while one is in use.
func StandIn(args []string, out io.Writer) (code int, ours bool) {
	if len(args) == 0 || !slices.Contains(standIns, filepath.Base(args[0])) {
		return 0, false
	}
	if _, err := os.Stat(binDir); err != nil {
		return 0, false
	}
	if err := standIn(filepath.Base(args[0]), args); err != nil {
		_, _ = fmt.Fprintf(out, "%s: FATAL: %v\n", filepath.Base(args[0]), err) // the last place to report to
		return exitFailed, true
	}
	return 0, true
}

func standIn(program string, args []string) error {
	if program == lsmod {
		return listModules(os.Stdout)
	}
	remove, modules, devices := program == rmmod, []string{}, 0
	for _, arg := range args[1:] {
		number, isNumber := strings.CutPrefix(arg, "num_devices=")
		switch {
		case isNumber:
			var err error
			if devices, err = strconv.Atoi(number); err != nil {
				return fmt.Errorf("num_devices: %w", err)
			}
		case arg == "--remove", !strings.HasPrefix(arg, "--") && strings.HasPrefix(arg, "-") && strings.Contains(arg, "r"):
			remove = true
		case !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "="):
			modules = append(modules, arg)
		}
	}
	switch {
	case !slices.Equal(modules, []string{"zram"}):
		return machines(program, args)
	case remove:
		return resetAll()
	}
	return makeDevices(devices)
}

// machines executes the machine's program. In a directory that is covered it is another one.
func machines(program string, args []string) error {
	var others []string
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin") {
		real, err := filepath.EvalSymlinks(dir)
		if _, covered := os.Stat(machineDir + real); err == nil && covered == nil {
			dir = machineDir + real
		}
		if dir != binDir {
			others = append(others, dir)
		}
	}
	if err := os.Setenv("PATH", strings.Join(others, string(filepath.ListSeparator))); err != nil {
		return err
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}

// zrams returns the directories of the devices in the namespace.
func zrams() ([]string, error) { return filepath.Glob(filepath.Join(sysBlock, "zram[0-9]*")) }

func resetAll() error {
	dirs, err := zrams()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		_, err := helper.CallTimeout(changeTime, helper.Write, filepath.Join(dir, "reset"), "1")
		if errors.Is(err, syscall.EBUSY) {
			return errors.New("Module zram is in use.")
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// makeDevices makes devices until there are n.
func makeDevices(n int) error {
	dirs, err := zrams()
	if err != nil {
		return err
	}
	for range n - len(dirs) {
		if _, err := helper.CallTimeout(changeTime, helper.Read, filepath.Join(sysClass, control, hotAdd)); err != nil {
			return err
		}
	}
	return nil
}
