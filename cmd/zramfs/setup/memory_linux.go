// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// memAvailable returns the memory that programs can take without swapping, in bytes: where /proc has
// processes alone (subset=pid of proc(5)) only what is free.
func memAvailable() (uint64, error) {
	available, err := host.Local.MemAvailable()
	if !errors.Is(err, fs.ErrNotExist) {
		return available, err
	}
	var all unix.Sysinfo_t
	if err := unix.Sysinfo(&all); err != nil {
		return 0, err
	}
	return uint64(all.Freeram) * uint64(all.Unit), nil
}
