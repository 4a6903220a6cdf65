// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// A device whose connection has ended ends no other one, to which the kernel has given its number.
func TestEndCopiesSparesOthers(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := t.TempDir()
	first, err := NewSession(dir, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closeSession(t, first)
	number := first.data.number
	if err := errors.Join(first.attributes.close(), first.data.close()); err != nil {
		t.Fatal(err)
	}
	var second *Session
	for range 64 { // the kernel gives the lowest number that is free
		other, err := NewSession(dir, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer closeSession(t, other)
		if slices.Contains([]int{other.data.number, other.attributes.number}, number) {
			second = other
			break
		}
	}
	if second == nil {
		t.Skip("other programs mount, and no device gets the number again")
	}
	if !first.DataEnded() {
		t.Error("the first device has not ended")
	}
	if ended, err := first.EndCopies(); err != nil || ended {
		t.Errorf("a device that has ended: %v, %v", ended, err)
	}
	for _, device := range []*os.File{second.files.Data, second.files.Attributes} {
		if events, err := poll(device); err != nil || events&unix.POLLERR != 0 {
			t.Errorf("another device has ended: %x, %v", events, err)
		}
	}
	if ended, err := second.EndCopies(); err != nil || !ended || !second.DataEnded() {
		t.Errorf("a device that has not ended: %v, %v", ended, err)
	}
}

// A keeper looks for copies while the supervision ends the device: what is closed then ends no
// other connection, to which the kernel has given the number.
func TestClosedDeviceEndsNoOther(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	s, err := NewSession(t.TempDir(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closeSession(t, s)
	closed, err := openDevice()
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if ended, err := abortConnections(map[int]*os.File{s.data.number: closed}); err != nil || ended {
		t.Errorf("with a device that is closed: %v, %v", ended, err)
	}
	if s.DataEnded() {
		t.Error("another device has ended")
	}
	if err := s.Abort(); err != nil {
		t.Error(err)
	}
	if ended, err := s.EndCopies(); err != nil || ended {
		t.Errorf("after the end: %v, %v", ended, err)
	}
}

func closeSession(t *testing.T, s *Session) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
