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

// Guest skips the test unless there is qemu, and a kernel that it can boot: in the directory that
// [GuestVariable] names, or in .cache/guest of the tree. It returns that directory. The name in
// [Variable] is guest.
func Guest(tb testing.TB) string {
	tb.Helper()
	dir, missing := tryGuest()
	check(tb, nameGuest, missing)
	return dir
}

func tryGuest() (string, *unmet) {
	fix := "apt install qemu-system-x86; tools/get-guest.sh .cache/guest"
	if missing := tryCommand("qemu-system-x86_64"); missing != nil {
		return "", &unmet{missing.cause, fix}
	}
	dir := os.Getenv(GuestVariable)
	if dir == "" {
		pages, err := pagefile.Default()
		if err != nil {
			return "", &unmet{err, fix}
		}
		dir = filepath.Join(filepath.Dir(pages), "guest")
	}
	for _, name := range []string{"vmlinuz", "busybox", "lib/modules"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", &unmet{err, fix}
		}
	}
	return dir, nil
}
