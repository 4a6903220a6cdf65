// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/loopsetup"
)

// A device used as swap is up already, unless its serving process does not answer: a user who
// starts it again after a death must not hear that all is well.
func TestUpAlready(t *testing.T) {
	up := upDevice()
	if d, err := UpAlready([]Device{up}); d == nil || err != nil {
		t.Errorf("%v, %v", d, err)
	}
	if d, err := UpAlready(nil); d != nil || err != nil {
		t.Errorf("elsewhere: %v, %v", d, err)
	}
	for _, reason := range []error{helper.ErrNoAnswer, errors.New("it cannot be read")} {
		d := up
		d.Status, d.Err = nil, fmt.Errorf("%s: %w", d.Dir, reason)
		if _, err := UpAlready([]Device{d}); !errors.Is(err, reason) || !strings.Contains(err.Error(), "/dev/loop3") {
			t.Errorf("%v: %v", reason, err)
		}
	}
	dead := up
	dead.Status, dead.Err, dead.Swaps[0].Used = nil, ErrDead, 12<<20
	const lost = "/run/zram: /dev/loop3 is still swap and no process serves it: 12M are lost: zramfs down --force /run/zram"
	if _, err := UpAlready([]Device{dead}); err == nil || err.Error() != lost {
		t.Errorf("dead: %v, want %s", err, lost)
	}
	away := up
	away.Elsewhere, away.Keeper = true, 24942
	const there = "/run/zram: a device is up in another mount namespace (keeper 24942, /dev/loop3, 12M in swap); zramfs down /run/zram ends it"
	if _, err := UpAlready([]Device{away}); err == nil || err.Error() != there {
		t.Errorf("away: %v, want %s", err, there)
	}
}

// upDevice returns a device that is up.
func upDevice() Device {
	return Device{
		Dir: "/run/zram", Loops: []loopsetup.Info{{Path: "/dev/loop3"}},
		Status: &status.Status{Disksize: 1 << 30, Algorithm: "adaptive"},
		Swaps:  []loopsetup.Swap{{Path: "/dev/loop3", Size: 1<<30 - 4096, Priority: 100}},
	}
}
