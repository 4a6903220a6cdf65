// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zramfs/zramfs/store"
)

// A device without a size takes one once, rounded up to pages.
func TestDisksizeIsRounded(t *testing.T) {
	var sizes []uint64
	resize := func(_, size uint64) error {
		sizes = append(sizes, size)
		return nil
	}
	f, a := newTestDevice(t, Config{Store: newStore(t, store.Config{Disksize: pageSize}), Uninitialised: true, Resize: resize})
	if f.size != 0 {
		t.Errorf("the data file has %d bytes", f.size)
	}
	for _, c := range []struct {
		text string
		want fuse.Status
	}{
		{"1", fuse.OK}, {"4096", fuse.OK}, {"4097", fuse.OK}, {"1M", fuse.OK},
		{"0", fuse.EINVAL}, {"x", fuse.EINVAL}, {"1E", fuse.Status(syscall.ENOMEM)},
	} {
		if got := writeAttribute(f, "disksize", c.text); got != c.want {
			t.Errorf("%q: %v, want %v", c.text, got, c.want)
		}
	}
	if !slices.Equal(sizes, []uint64{pageSize, pageSize, 2 * pageSize, 1 << 20}) {
		t.Errorf("asked for %d bytes", sizes)
	}
	a.cfg.Uninitialised = false
	a.chosen.Store(&Settings{Resized: 7})
	if err := a.setDisksize(7|resent, []byte("1M")); err != nil || len(sizes) != 4 {
		t.Errorf("the request that a predecessor has begun: %v, asked for %d bytes", err, sizes)
	}
	if got := writeAttribute(f, "disksize", "1M"); got != fuse.EBUSY {
		t.Errorf("a second size: %v", got)
	}
}

// A reset of a device without a size takes its backing device away, if it has one.
func TestResetOfBacking(t *testing.T) {
	var set []string
	path := "/a/path"
	_, a := newTestDevice(t, Config{
		Store: newStore(t, store.Config{Disksize: pageSize}), Uninitialised: true, Backing: func() string { return path },
		SetBacking: func(_ uint64, to string) error {
			set, path = append(set, to), to
			return nil
		},
	})
	a.cfg.Store.SetMemLimit(1 << 20)
	for range 2 {
		if err := a.reset(2, []byte("1")); err != nil || !slices.Equal(set, []string{""}) {
			t.Errorf("%v, set to %q", err, set)
		}
	}
	if limit := a.cfg.Store.Stats().MemLimit; limit != 0 {
		t.Errorf("a limit of %d bytes is left", limit)
	}
}

// A device whose data file is open, or has a request, keeps what it has, and can be opened then.
func TestResetInUse(t *testing.T) {
	_, a := newTestDevice(t, Config{Store: newStore(t, store.Config{Disksize: pageSize})})
	var closed, whileResized bool
	a.closed = func(yes bool) { closed = yes }
	var answer error
	a.cfg.Resize = func(_, size uint64) error {
		if whileResized = closed; size != 0 {
			t.Errorf("a reset asks for %d bytes", size)
		}
		return answer
	}
	for _, c := range []struct {
		opens, inFlight int
		answer, want    error
		stays           bool // closed
	}{
		{opens: 1, want: syscall.EBUSY}, {inFlight: 1, want: syscall.EBUSY},
		{}, {answer: syscall.ENOMEM, want: syscall.ENOMEM}, {answer: ErrLeft, want: ErrLeft, stays: true},
	} {
		a.opens, a.inFlight = func() int { return c.opens }, func() int { return c.inFlight }
		whileResized, answer = false, c.answer
		if err := a.reset(2, []byte("1")); !errors.Is(err, c.want) || closed != c.stays || whileResized != (c.want != syscall.EBUSY) {
			t.Errorf("%+v: %v, closed during the reset %v, then %v", c, err, whileResized, closed)
		}
	}
	for text, want := range map[string]error{"0": syscall.EINVAL, "x": syscall.EINVAL, "65536": syscall.ERANGE} {
		if err := a.reset(2, []byte(text)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}
