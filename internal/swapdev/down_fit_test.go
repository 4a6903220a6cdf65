// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/loopsetup"
)

func TestFit(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	tests := []struct {
		fit  fit
		need uint64
		ok   bool
	}{
		{fit{0, 0, 0}, 0, true}, // nothing has to come back
		{fit{16 * mib, 49 * mib, 0}, 49 * mib, false},
		{fit{16 * mib, 49*mib + 1, 0}, 49 * mib, true},
		{fit{16 * mib, 20 * mib, 30 * mib}, 49 * mib, true},
		{fit{16 * gib, 16 * gib, 0}, 17*gib + 32*mib, false},
		{fit{16 * gib, 18 * gib, 0}, 17*gib + 32*mib, true},
		{fit{16 * gib, 0, 18 * gib}, 17*gib + 32*mib, true},
	}
	for _, test := range tests {
		if got := test.fit.need(); got != test.need {
			t.Errorf("%+v needs %d, want %d", test.fit, got, test.need)
		}
		if got := test.fit.ok(); got != test.ok {
			t.Errorf("%+v: ok %v", test.fit, got)
		}
	}
	want := "2.4G in swap (2.6G with a margin), 1.1G of memory available, 0B free in other swap"
	if got := (fit{2458 * mib, 1126 * mib, 0}).String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFreeElsewhere wants only swap outside memory counted.
func TestFreeElsewhere(t *testing.T) {
	ours := []string{"/dev/loop3", "/dev/loop4", "/dev/loop5"}
	exclude := func(path string) bool { return slices.Contains(ours, path) || inMemory(path) }
	swaps := []loopsetup.Swap{
		{Path: "/dev/loop3", Size: 1000, Used: 1}, {Path: "/dev/loop5", Size: 1000}, {Path: "/dev/zram0", Size: 1000},
		{Path: "/dev/sda2", Size: 500, Used: 100}, {Path: "/swapfile", Size: 70, Used: 70}, {Path: "/dev/loop33", Size: 7, Used: 5},
	}
	for i := range swaps {
		swaps[i].Found = true
	}
	swaps = append(swaps, loopsetup.Swap{Path: "none", Type: "virtual", Size: 4000}) // of a container's table
	if got := freeElsewhere(swaps, exclude); got != 402 {
		t.Errorf("%d free, want 402", got)
	}
}

// A wait for memory ends with it, with its time, or once a device is lost; not where one that has
// answered is slow to.
func TestUntilFits(t *testing.T) {
	lost, full := errors.New("nothing serves it"), errors.New("it does not fit")
	for name, c := range map[string]struct {
		served, fits []error // of the looks, one a second
		want         error
		looks        int
	}{
		"at once":         {[]error{nil}, []error{nil}, nil, 1},
		"later":           {[]error{nil, nil, nil}, []error{full, full, nil}, nil, 3},
		"never":           {make([]error, 6), []error{full, full, full, full, full, full}, full, 6},
		"silent at first": {[]error{helper.ErrNoAnswer}, nil, helper.ErrNoAnswer, 1},
		"slow":            {[]error{nil, helper.ErrNoAnswer, nil}, []error{full, nil}, nil, 3},
		"silent since":    {[]error{nil, helper.ErrNoAnswer, helper.ErrNoAnswer, helper.ErrNoAnswer, helper.ErrNoAnswer, helper.ErrNoAnswer}, []error{full}, helper.ErrNoAnswer, 6},
		"lost":            {[]error{nil, lost}, []error{full}, lost, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			next := func(all *[]error) func() error {
				return func() error {
					err := (*all)[0]
					*all = (*all)[1:]
					return err
				}
			}
			r := &Down{Until: time.Now().Add(5 * waitPause)}
			had := len(c.served)
			if err := r.untilFits(next(&c.served), next(&c.fits)); !errors.Is(err, c.want) || had-len(c.served) != c.looks {
				t.Errorf("%s: %v after %d looks, want %v after %d", name, err, had-len(c.served), c.want, c.looks)
			}
		})
	}
}
