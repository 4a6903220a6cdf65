// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/notify"
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

// As long as pages come back, a service manager is asked to wait. An area that does not exist has
// none left.
func TestShowReturnExtends(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	t.Setenv(notify.Variable, name)
	done, shown := make(chan error, 1), make(chan error, 1)
	go func() {
		shown <- showReturn(&strings.Builder{}, []loopsetup.Swap{{Path: "/dev/nonexistent", Used: 1 << 20}}, done)
	}()
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 4096)
	n, err := c.Read(text)
	if want := "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=turning swap off: 0B of 1M to come"; err != nil || string(text[:n]) != want {
		t.Errorf("%q, %v; want %q", text[:n], err, want)
	}
	done <- nil
	if err := <-shown; err != nil {
		t.Error(err)
	}
}
