// SPDX-License-Identifier: Apache-2.0

package require

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/zramfs/zramfs/internal/pages/pagefile"
)

// GuestVariable is the environment variable that names the directory of the kernel that tests boot.
const GuestVariable = "ZRAMFS_GUEST"

// ZswapGuestVariable is the environment variable that names the directory of a kernel with zswap.
const ZswapGuestVariable = "ZRAMFS_GUEST_ZSWAP"

// SystemVariable is the environment variable that names the directory of the system that tests
// boot.
const SystemVariable = "ZRAMFS_SYSTEM"

// Guest skips the test unless there is qemu, and a kernel that it can boot: in the directory that
// [GuestVariable] names, or in .cache/guest of the tree. It returns that directory. The name in
// [Variable] is guest.
func Guest(tb testing.TB) string {
	tb.Helper()
	dir, missing := tryGuest(GuestVariable, "guest", "apt install qemu-system-x86; tools/get-guest.sh .cache/guest")
	check(tb, nameGuest, missing)
	return dir
}

// ZswapGuest is Guest for a kernel that has zswap: in the directory that [ZswapGuestVariable]
// names, or in .cache/guest-zswap of the tree.
func ZswapGuest(tb testing.TB) string {
	tb.Helper()
	dir, missing := tryGuest(ZswapGuestVariable, "guest-zswap", "apt install qemu-system-x86; FLAVOUR=amd64 tools/get-guest.sh .cache/guest-zswap trixie")
	check(tb, nameGuest, missing)
	return dir
}

// System is Guest for a kernel with a disk that has systemd, OpenRC and runit: in the directory
// that [SystemVariable] names, or in .cache/system of the tree.
func System(tb testing.TB) string {
	tb.Helper()
	dir, missing := tryGuest(SystemVariable, "system", "apt install qemu-system-x86 mmdebstrap; tools/get-system.sh .cache/system", "root.ext4")
	check(tb, nameGuest, missing)
	return dir
}

func tryGuest(variable, folder, fix string, more ...string) (string, *unmet) {
	if missing := tryCommand("qemu-system-x86_64"); missing != nil {
		return "", &unmet{missing.cause, fix}
	}
	dir := os.Getenv(variable)
	if dir == "" {
		pages, err := pagefile.Default()
		if err != nil {
			return "", &unmet{err, fix}
		}
		dir = filepath.Join(filepath.Dir(pages), folder)
	}
	for _, name := range append(more, "vmlinuz", "busybox", "lib/modules") {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", &unmet{err, fix}
		}
	}
	return dir, nil
}
