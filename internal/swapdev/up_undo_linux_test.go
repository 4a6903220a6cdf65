// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/status"
)

// If swapoff fails, the device and its record stay for down: earlier steps are not undone.
func TestUpLeavesSwapThatStaysOn(t *testing.T) {
	undone := 0
	u := &Up{Report: &status.Report{Dir: "/run/zram"}}
	step := func() error { undone++; return nil }
	u.undo = []func() error{step, step, func() error { return u.turnOff(filepath.Join(t.TempDir(), "nothing")) }}
	if err := u.takeBack(); !errors.Is(err, errSwapStays) || undone != 0 {
		t.Errorf("%d steps were undone, %v", undone, err)
	}
	failed := errors.New("a step failed")
	u.undo = []func() error{step, func() error { return failed }}
	if err := u.takeBack(); !errors.Is(err, failed) || undone != 1 {
		t.Errorf("%d steps were undone, %v", undone, err)
	}
}

// An interrupted up says so and that nothing was changed, without package context's words.
func TestUpInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	undone := 0
	u := &Up{Context: ctx, undo: []func() error{func() error { undone++; return nil }}}
	if err := u.Run(); err == nil || err.Error() != "interrupted; everything was undone" || undone != 1 {
		t.Errorf("%d steps were undone, %v", undone, err)
	}
	failed := errors.New("a step failed")
	u.undo = []func() error{func() error { return failed }}
	if err := u.Run(); !errors.Is(err, failed) || strings.Contains(err.Error(), "everything") {
		t.Errorf("%v", err)
	}
}
