// SPDX-License-Identifier: Apache-2.0

package require

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/pages/pagefile"
)

// Variable is the environment variable that names, separated by commas, the requirements that must
// be met: a test that lacks one of them fails instead of being skipped.
const Variable = "ZRAMFS_REQUIRE"

// The names that Variable may hold.
const (
	nameFUSE     = "fuse"
	nameUserNS   = "userns"
	nameRoot     = "root"
	nameLoop     = "loop"
	nameSwap     = "swap"
	nameZram     = "zram"
	namePages    = "pages"
	nameCommands = "commands"
	nameAVX512   = "avx512"
	nameAVX2     = "avx2"
	nameNEON     = "neon"
	namePtxas    = "ptxas"
	nameLibcuda  = "libcuda"
	nameGPU      = "gpu"
	nameGuest    = "guest"
	nameSuites   = "suites"
)

// names lists every requirement, in the order in which messages show them.
var names = []string{nameFUSE, nameUserNS, nameRoot, nameLoop, nameSwap, nameZram, namePages, nameCommands, nameAVX512, nameAVX2, nameNEON, namePtxas, nameLibcuda, nameGPU, nameGuest, nameSuites}

// An unmet requirement: the error of the trial, and the command that makes the next trial succeed.
type unmet struct {
	cause error
	fix   string
}

// FUSE skips the test unless /dev/fuse can be opened. For root it also makes a FUSE mount in a
// mount namespace of its own; for other users [UserNS] tries that.
func FUSE(tb testing.TB) {
	tb.Helper()
	check(tb, nameFUSE, tryFUSE())
}

// UserNS skips the test unless an unprivileged user can make a user namespace and mount FUSE in it.
// It returns the attributes that the trial used, so that the test can start its own program in just
// such a namespace: root inside, an unprivileged user outside (user 65534 when the tests run as
// root), with mounts that only the namespace sees.
//
// That user cannot enter directories made by testing's TempDir, whose parent has mode 0700; start
// programs through a directory that every user may enter.
func UserNS(tb testing.TB) *syscall.SysProcAttr {
	tb.Helper()
	check(tb, nameUserNS, tryUserNS())
	return userNamespace()
}

// Root skips the test unless it runs as the superuser of the initial user namespace.
func Root(tb testing.TB) {
	tb.Helper()
	check(tb, nameRoot, tryRoot())
}

// Loop skips the test unless a loop device can be attached; it attaches one to an empty page and
// detaches it.
func Loop(tb testing.TB) {
	tb.Helper()
	check(tb, nameLoop, tryLoop())
}

// Swap skips the test unless the process is root, may call swapon, and swap is off. Swap that is on
// would disturb the measurements, and a page of another process could land on a device under test
// because it was pushed out of another swap area.
func Swap(tb testing.TB) {
	tb.Helper()
	check(tb, nameSwap, trySwap())
}

// Zram skips the test unless the kernel's zram can add a device; it adds one and removes it.
func Zram(tb testing.TB) {
	tb.Helper()
	check(tb, nameZram, tryZram())
}

// Pages skips the test unless there is a file of sampled real pages where [pagefile.Find] looks for
// it. Only its header is read.
func Pages(tb testing.TB) {
	tb.Helper()
	check(tb, namePages, tryPages())
}

// Command skips the test unless PATH has the program. The name in [Variable] is "commands" for
// every program.
func Command(tb testing.TB, program string) {
	tb.Helper()
	check(tb, nameCommands, tryCommand(program))
}

// Instructions skips the test unless usable: whether the program under test uses the instruction
// set of that name here. The package that chooses says so, because a processor that has a set
// proves nothing if its code is never reached. The name in [Variable] is that of the set: avx512,
// avx2 or neon.
func Instructions(tb testing.TB, set string, usable bool) {
	tb.Helper()
	if usable {
		check(tb, set, nil)
		return
	}
	check(tb, set, &unmet{
		fmt.Errorf("the instruction set %s is not used", set),
		"a machine that has it, without the build tag purego, and ZRAMFS_DISABLE that does not name it",
	})
}

// check ends the test unless the requirement is met: skipped, or failed if the environment demands
// it.
func check(tb testing.TB, name string, missing *unmet) {
	tb.Helper()
	demanded, err := demands()
	if err != nil {
		tb.Fatal(err)
	}
	if missing == nil {
		return
	}
	if slices.Contains(demanded, name) {
		tb.Fatalf("%s demands %s: %v (fix: %s)", Variable, name, missing.cause, missing.fix)
	}
	tb.Skipf("needs %s: %v (to run this test: %s)", name, missing.cause, missing.fix)
}

func tryPages() *unmet {
	fix := "go run ./tools/pagesample"
	path, err := pagefile.Find()
	if err != nil {
		return &unmet{err, fix}
	}
	if _, err := pagefile.Inspect(path); err != nil {
		return &unmet{err, fix}
	}
	return nil
}

func tryCommand(program string) *unmet {
	if _, err := exec.LookPath(program); err != nil {
		return &unmet{err, fmt.Sprintf("install %s (apt-get install %s)", program, packageOf(program))}
	}
	return nil
}

// packageOf returns the Debian package of a program that tests of this repository use.
func packageOf(program string) string {
	switch {
	case strings.HasPrefix(program, "mkfs.ext"), strings.HasPrefix(program, "fsck.ext"),
		program == "e2fsck", program == "mke2fs":
		return "e2fsprogs"
	case slices.Contains([]string{"losetup", "mkswap", "swapon", "swapoff", "blkdiscard", "zramctl", "unshare"}, program):
		return "util-linux"
	case program == "qemu-system-x86_64":
		return "qemu-system-x86"
	case program == "promtool":
		return "prometheus"
	case program == "node":
		return "nodejs"
	case program == "mount", program == "umount":
		return "mount"
	case program == "man":
		return "man-db"
	case program == "dpkg-deb":
		return "dpkg"
	case program == "apk":
		return "apk-tools"
	case program == "systemd-analyze":
		return "systemd"
	case program == "systemd-nspawn":
		return "systemd-container"
	}
	return program
}
