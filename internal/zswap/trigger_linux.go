// SPDX-License-Identifier: Apache-2.0

package zswap

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
)

// settle is how long the kernel's worker may take to begin, and to read the limit, after the store
// that started it.
const settle = 200 * time.Microsecond

// A trigger makes zswap's worker run with a lower limit.
type trigger struct {
	machine   host.Root
	low, high string // values of max_pool_percent
	page      []byte
}

func newTrigger(m host.Root, limit int) (*trigger, error) {
	high, err := maxPool.Read(m)
	if err != nil {
		return nil, err
	}
	page, err := unix.Mmap(-1, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("take a page: %w", err)
	}
	return &trigger{m, strconv.Itoa(limit), high, page}, nil
}

func (t *trigger) close() error { return unix.Munmap(t.page) }

// pull runs the worker n times.
func (t *trigger) pull(n int, lock func() (release func())) (err error) {
	defer lock()()
	for ; n > 0 && err == nil; n-- {
		err = t.pullOnce()
	}
	return err
}

func (t *trigger) pullOnce() (err error) {
	// A page that was swapped out would be read back first: without it the kernel has a new one.
	if err := unix.Madvise(t.page, unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("drop a page: %w", err)
	}
	for i := range t.page {
		t.page[i] = 0x5a // the device keeps a page of one byte in its index
	}
	if err := t.machine.WriteControl(string(maxPool), t.low); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.machine.WriteControl(string(maxPool), t.high)) }()
	if err := unix.Madvise(t.page, unix.MADV_PAGEOUT); err != nil { // since Linux 5.4
		return fmt.Errorf("page out: %w", err)
	}
	time.Sleep(settle)
	return nil
}
