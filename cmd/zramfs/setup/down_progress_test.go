// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/loopsetup"
)

// TestShowReturn wants the outcome of the swapoff, for an area that does not exist and so has
// nothing in it.
func TestShowReturn(t *testing.T) {
	areas := []loopsetup.Swap{{Path: "/dev/nonexistent", Used: 1 << 20}}
	cause := errors.New("cause")
	for _, want := range []error{nil, cause} {
		done := make(chan error, 1)
		done <- want
		if err := showReturn(&strings.Builder{}, areas, done); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}
