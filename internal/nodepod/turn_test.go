// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"
)

// Swap is not turned on while the pod takes it away, and not taken away while it is turned on.
func TestExclusively(t *testing.T) {
	called := errors.New("called")
	err := exclusively(t.Context(), time.Millisecond, func() error {
		if _, err := lockPod(syscall.LOCK_EX | syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			t.Errorf("leave does not wait: %v", err)
		}
		return called
	})
	if !errors.Is(err, called) || isLeaving() {
		t.Errorf("%v, %v", err, isLeaving())
	}
	unlock, err := lockLeave()
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	if err := exclusively(ctx, time.Millisecond, func() error { return called }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the pod leaves: %v", err)
	}
	ended := make(chan error)
	go func() { ended <- exclusively(t.Context(), time.Millisecond, func() error { return called }) }()
	if err := errors.Join(unlock(), <-ended); !errors.Is(err, called) {
		t.Error(err)
	}
}
