// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

const (
	// ltpSize is what the tests of file systems ask for.
	ltpSize = 1 << 30
	// ltpWindow is how long a test of theirs that turns swap on may take.
	ltpWindow = 50 * time.Second
	// Bits of the exit code of a test of the Linux Test Project.
	ltpFailed = 1 | 2 // a failure, or a test that could not go on
)

// ltpSwapTests turn swap on: on files of a file system on the device, and mkswap01 on the device.
var ltpSwapTests = []string{
	"syscalls/swapon/swapon01", "syscalls/swapon/swapon02", "syscalls/swapon/swapon03",
	"syscalls/swapoff/swapoff01", "syscalls/swapoff/swapoff02", "../commands/mkswap/mkswap01.sh",
}

// ltpLoopTests make loop devices on files, here of a file system on the device.
var ltpLoopTests = []string{
	"syscalls/ioctl/ioctl_loop01", "syscalls/ioctl/ioctl_loop02", "syscalls/ioctl/ioctl_loop03", "syscalls/ioctl/ioctl_loop04",
	"syscalls/ioctl/ioctl_loop05", "syscalls/ioctl/ioctl_loop06", "syscalls/ioctl/ioctl_loop07",
}

// TestSwapSuiteLTP runs the tests of swapon, swapoff, mkswap and loop devices of the Linux Test
// Project, each on a device of its own.
func TestSwapSuiteLTP(t *testing.T) {
	requireGrounds(t)
	ltp := require.Suite(t, "ltp")
	for _, program := range []string{"mkfs.ext4", "mkswap", "blkid", "losetup"} {
		require.Command(t, program)
	}
	device, reference := newOutcome(), newOutcome()
	for _, path := range append(ltpSwapTests, ltpLoopTests...) {
		name := strings.TrimSuffix(filepath.Base(path), ".sh")
		t.Run(name, func(t *testing.T) {
			runLTP(t, ltp, path, name, "reference", onReference, reference)
			runLTP(t, ltp, path, name, "device", onDevice, device)
		})
	}
	wantNoWorse(t, "LTP", ltp, device, reference)
}

// runLTP runs one test on a ground of its own and notes how it ended.
func runLTP(t *testing.T, ltp, path, name, where string, make maker, o outcome) {
	t.Run(where, func(t *testing.T) {
		g := make(t, ltpSize)
		swaps := !strings.HasPrefix(name, "ioctl_loop")
		if swaps {
			guardGround(t, g)
		} else {
			system(t, toolTimeout, "mkfs.ext4", "-q", g.loop)
			system(t, toolTimeout, "mount", g.loop, g.work(t))
			t.Cleanup(func() { system(t, toolTimeout, "umount", g.work(t)) })
		}
		r := runCommand(t, ltpWindow, ltpCommand(t, ltp, path, g))
		switch said := r.Stdout + r.Stderr; {
		case r.Code < 0 || r.Code&ltpFailed != 0:
			o.verdicts[name], o.reasons[name] = suiteFailed, said
		case strings.Contains(said, "TPASS"):
			o.verdicts[name] = suitePassed
		default:
			o.verdicts[name], o.reasons[name] = suiteNotRun, said
		}
	})
}

// ltpCommand prepares a test whose device is the ground, and whose files lie near it.
func ltpCommand(t *testing.T, ltp, path string, g ground) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(filepath.Join(ltp, "testcases/kernel", path))
	cmd.Dir = g.work(t)
	cmd.Env = append(os.Environ(), "LTPROOT="+ltp, "TMPDIR="+cmd.Dir, "LTP_DEV="+g.loop, "LTP_SINGLE_FS_TYPE=ext4", "LTP_COLORIZE_OUTPUT=0",
		"PATH="+strings.Join([]string{
			os.Getenv("PATH"), filepath.Join(ltp, "testcases/lib"), filepath.Dir(cmd.Path), filepath.Join(filepath.Dir(ltp), "uuid-runtime/usr/bin"), // has uuidgen
		}, ":"))
	return cmd
}
