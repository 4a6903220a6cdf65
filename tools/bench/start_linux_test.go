// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

// The guard of a start is told which connection serves the device: it asks the loop device.
func TestStartIsWatched(t *testing.T) {
	require.Swap(t) // the guard asks for swap areas
	one := subject{name: "none", up: func(*cleanup) (*device, error) { return &device{path: "/dev/loop-none"}, nil }}
	if _, err := startOnce(options{window: time.Minute}, one); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a loop device that is not there: %v", err)
	}
}

// Where up has made nothing there is nothing to take down, and no error.
func TestDownOfNothing(t *testing.T) {
	require.Command(t, "false")
	if err := downZramfs(contestant{binary: "false"}, filepath.Join(t.TempDir(), "zram")); err != nil {
		t.Error(err)
	}
}
