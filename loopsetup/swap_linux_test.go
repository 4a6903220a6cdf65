// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"errors"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSwapFlags holds the values that strace shows swapon(8) of util-linux 2.38 pass for the same
// options.
func TestSwapFlags(t *testing.T) {
	for _, c := range []struct {
		priority int
		discard  Discard
		want     int
	}{
		{-1, DiscardNone, 0},
		{-1, "", 0},
		{0, DiscardNone, 0x8000},
		{5, DiscardNone, 0x8005},
		{32767, DiscardNone, 0xffff},
		{-1, DiscardBoth, 0x10000},
		{-1, DiscardOnce, 0x30000},
		{-1, DiscardPages, 0x50000},
		{100, DiscardBoth, 0x18064},
		{32767, DiscardPages, 0x5ffff},
	} {
		if got, err := swapFlags(c.priority, c.discard); got != c.want || err != nil {
			t.Errorf("priority %d, discard %q: %#x, %v instead of %#x", c.priority, c.discard, got, err, c.want)
		}
	}
}

func TestSwapOnRefusesArguments(t *testing.T) {
	for _, c := range []struct {
		priority int
		discard  Discard
	}{{-2, DiscardNone}, {32768, DiscardNone}, {1 << 40, DiscardBoth}, {0, "sometimes"}} {
		if err := SwapOn("/nowhere", c.priority, c.discard); !errors.Is(err, ErrInvalid) {
			t.Errorf("priority %d, discard %q: %v", c.priority, c.discard, err)
		}
	}
	for _, err := range []error{SwapOn("a\x00b", 0, DiscardNone), SwapOff("a\x00b")} {
		if err == nil {
			t.Error("a path with a NUL was cut short")
		}
	}
}

// TestSwapOffLeavesSignalsAlone checks that a call which fails at once restores the mask of its
// thread.
func TestSwapOffLeavesSignalsAlone(t *testing.T) {
	var before, after unix.Sigset_t
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: a thread with a spoilt mask ends with this goroutine
		done <- func() error {
			if err := unix.PthreadSigmask(0, nil, &before); err != nil {
				return err
			}
			if err := swapOff("/nowhere"); err == nil {
				return errors.New("swapoff of a path that does not exist succeeded")
			}
			return unix.PthreadSigmask(0, nil, &after)
		}()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if before != after {
		t.Errorf("signal mask %x became %x", before, after)
	}
}
