// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"fmt"
	"syscall"

	"github.com/zramfs/zramfs/fusefs/sysfstext"
)

// The functions of this file set attributes as their namesakes in the kernel's
// drivers/block/zram/zram_drv.c do, with the same error numbers.

// ignoreText takes any text: max_comp_streams changes nothing in the kernel since Linux 4.7.
func ignoreText([]byte, *Settings) error { return nil }

// setMemLimit takes a size, rounded up to pages; 0 is no limit.
func (a *attributes) setMemLimit(text []byte, c *Settings) error {
	limit, ok := sysfstext.Size(text)
	if !ok {
		return syscall.EINVAL
	}
	limit = (limit + pageSize - 1) &^ (pageSize - 1)
	c.MemLimit = &limit
	if err := c.fits(); err != nil {
		return err
	}
	a.cfg.Store.SetMemLimit(limit)
	return nil
}

// resetPeak takes a zero, which makes the peak begin anew.
func (a *attributes) resetPeak(text []byte, _ *Settings) error {
	if n, err := sysfstext.Unsigned(text, 64); err != nil || n != 0 {
		return syscall.EINVAL
	}
	a.cfg.Store.ResetPeak()
	return nil
}

// compact takes any text. It does not keep a successor, and with it all pages, waiting.
func (a *attributes) compact([]byte, *Settings) error {
	a.cfg.Store.CompactNow(a.stopping)
	return nil
}

// refuse is EINVAL with what was wrong, for the log.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", fmt.Errorf(format, args...), syscall.EINVAL)
}
