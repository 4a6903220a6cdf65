// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// tryNoswap makes a tmpfs with the option noswap (Linux 6.4) without mounting it, and releases it.
func tryNoswap() (err error) {
	fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("fsopen tmpfs: %w", err)
	}
	defer func() {
		if closeErr := unix.Close(fd); err == nil {
			err = closeErr
		}
	}()
	if err := unix.FsconfigSetFlag(fd, "noswap"); err != nil {
		return fmt.Errorf("set noswap: %w", err)
	}
	if err := unix.FsconfigCreate(fd); err != nil {
		return fmt.Errorf("make tmpfs: %w", err)
	}
	return nil
}
