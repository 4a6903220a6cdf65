// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
)

// memAvailable returns the memory that programs can take without swapping, in bytes. Where /proc
// has processes alone (subset=pid in proc(5)), it is the free memory.
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
