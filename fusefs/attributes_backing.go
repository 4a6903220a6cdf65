// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"math"
	"strings"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/fusefs/sysfstext"
	"github.com/zramfs/zramfs/store"
)

// The functions of this file are the backing device's attributes, after their namesakes in the
// kernel's drivers/block/zram/zram_drv.c.

// showBacking shows the path of the backing device.
func (a *attributes) showBacking() ([]byte, error) {
	if a.cfg.Backing != nil {
		if path := a.cfg.Backing(); path != "" {
			return []byte(path + "\n"), nil
		}
	}
	return []byte("none\n"), nil
}

// setBacking takes a path for a device that has no size yet. Unlike the kernel's it may be that of
// a regular file.
func (a *attributes) setBacking(request uint64, text []byte) error {
	if err := a.begin(); err != nil {
		return err
	}
	defer a.setting.Unlock()
	switch {
	case !a.cfg.Uninitialised:
		return syscall.EBUSY
	case sysfstext.Word(text) == "":
		return syscall.ENOENT
	}
	return a.cfg.SetBacking(numberOf(request), sysfstext.Word(text))
}

// setWritebackLimit takes the number of pages that may be written while the limit is enabled.
func (a *attributes) setWritebackLimit(text []byte, c *Settings) error {
	n, err := sysfstext.Unsigned(text, 64)
	if err != nil {
		return syscall.EINVAL
	}
	c.WritebackLimit = n
	return nil
}

// setWritebackLimited takes a number: 0 is no.
func (a *attributes) setWritebackLimited(text []byte, c *Settings) error {
	n, err := sysfstext.Unsigned(text, 64)
	if err != nil {
		return syscall.EINVAL
	}
	c.WritebackLimited = n != 0
	return nil
}

func showWritebackLimited(c Settings) string {
	if c.WritebackLimited {
		return "1\n"
	}
	return "0\n"
}

// writeBack writes pages to the backing device and returns when it has them, while requests go on.
// A successor goes on with what was left. As in the kernel it excludes recompress; other
// attributes can be set while it works.
func (a *attributes) writeBack(_ uint64, text []byte) error {
	if a.cfg.Uninitialised {
		return syscall.EINVAL
	}
	if !a.working.CompareAndSwap(false, true) {
		return syscall.EAGAIN
	}
	defer a.working.Store(false)
	if a.cfg.Backing == nil || a.cfg.Backing() == "" {
		return syscall.ENODEV
	}
	pages, err := selectionsOf(text, a.cfg.Store.Pages())
	if err != nil || len(pages) == 0 {
		return err
	}
	_, err = a.cfg.Store.WriteBack(store.WritebackConfig{Pages: pages, Grant: a.budget(a.stopping)})
	return writebackErrno(err)
}

// spill writes up to a number of pages back that were not accessed for age, the coldest of them,
// within writeback_limit, and returns how many it wrote. It waits while writeback is at work, and
// writeback while it is. It counts the pages in advance, so that a process that is killed has not
// written more than were counted.
func (a *attributes) spill(age time.Duration, most int) (pages uint64, err error) {
	if a.cfg.Uninitialised {
		return 0, nil
	}
	if err := a.spend(int64(most)); err != nil {
		return 0, err
	}
	never := func() bool { return false } // a server that stops waits for requests, and they for room
	budget, left := a.budget(never), most
	did, err := a.cfg.Store.WriteBack(store.WritebackConfig{
		Pages:   []store.Selection{{End: a.cfg.Store.Pages(), Age: age}},
		Coldest: most,
		Grant: func(pages int) (granted int, err error) {
			granted, err = budget(min(pages, left))
			left -= max(granted, min(pages, 0))
			return granted, err
		},
	})
	if errors.Is(err, store.ErrBudget) && left == 0 || errors.Is(err, ErrLeft) {
		err = nil
	}
	return did.Pages, errors.Join(err, a.spend(int64(did.Pages)-int64(most)))
}

// spend counts pages of spill. It does not count where the server stops, since none are moved then.
func (a *attributes) spend(pages int64) error {
	err := a.beginOnce()
	if err == nil {
		defer a.setting.Unlock()
		err = a.change(func(c *Settings) error { c.spend(time.Now(), pages); return nil })
	}
	if errors.Is(err, ErrLeft) {
		return nil
	}
	return err
}

// writebackErrno makes the kernel's answer of an error, and keeps the cause for the log.
func writebackErrno(err error) error {
	var number syscall.Errno
	switch {
	case err == nil || errors.Is(err, ErrLeft):
		return err
	case errors.Is(err, store.ErrBackingFull):
		return syscall.ENOSPC
	case errors.Is(err, store.ErrBudget):
		return syscall.EIO
	case errors.Is(err, store.ErrFull):
		return syscall.ENOMEM
	case errors.As(err, &number):
		return err
	}
	return errors.Join(err, syscall.EIO)
}

// budget returns a function that takes pages from the limit, or gives back for a negative number
// what it has taken last. It comes before the pages are written, so that a process that is killed
// has not written more than the limit. Once stopping says so, it takes none and returns ErrLeft.
func (a *attributes) budget(stopping func() bool) func(pages int) (granted int, err error) {
	taken := false // the limit may count by turns
	return func(pages int) (granted int, err error) {
		if pages > 0 {
			if stopping() {
				return 0, ErrLeft
			}
			taken = a.chosen.Load().WritebackLimited
		}
		if !taken {
			return pages, nil
		}
		if err := a.beginOnce(); err != nil { // compact may take seconds
			return 0, err
		}
		defer a.setting.Unlock()
		err = a.change(func(c *Settings) error {
			if granted = pages; pages < 0 { // it may have been set in between, to any number
				c.WritebackLimit += min(uint64(-pages), math.MaxUint64-c.WritebackLimit)
				return nil
			}
			granted = int(min(uint64(pages), c.WritebackLimit))
			c.WritebackLimit -= uint64(granted)
			return nil
		})
		return granted, err
	}
}

// selectionsOf reads what writeback takes, as the kernel does: a list of page_index=N and
// page_indexes=FIRST-LAST, or a type, which also stands alone, as in kernels before 6.16. A type
// ends the list; unknown keys are ignored.
func selectionsOf(text []byte, pages uint64) (all []store.Selection, err error) {
	span := store.Selection{End: pages}
	for key, value := range sysfstext.Arguments(text) {
		if value == "" {
			key, value = "type", key
		}
		switch key {
		case "type":
			span, err = selectionOf(value, span)
			return append(all, span), err
		case "page_index":
			span.First, err = pageNumber(value, pages)
			span.End = span.First + 1
		case "page_indexes":
			span, err = pageNumbers(value, pages)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, span)
	}
	return all, nil
}

// selectionOf adds to a selection what a type asks.
func selectionOf(mode string, s store.Selection) (store.Selection, error) {
	switch mode {
	case "idle":
		s.Idle = true
	case "huge":
		s.Huge = true
	case "huge_idle":
		s.Idle, s.Huge = true, true
	case "incompressible":
		s.Incompressible = true
	default:
		return s, syscall.EINVAL
	}
	return s, nil
}

// pageNumber reads the number of a page of the device.
func pageNumber(text string, pages uint64) (uint64, error) {
	n, err := sysfstext.Unsigned([]byte(text), 64)
	if err == nil && n >= pages {
		err = syscall.ERANGE
	}
	return n, err
}

// pageNumbers reads the first and the last of some pages.
func pageNumbers(text string, pages uint64) (s store.Selection, err error) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		return s, syscall.EINVAL
	}
	if s.First, err = pageNumber(first, pages); err != nil {
		return s, err
	}
	if s.End, err = pageNumber(last, pages); err == nil && s.End < s.First {
		err = syscall.ERANGE
	}
	s.End++
	return s, err
}
