// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// One process of a pod at a time turns swap on or off: it has locked the program that they run.

// lockPod locks the program, by how of flock(2), until unlock is called or this process ends.
func lockPod(how int) (unlock func() error, err error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
	}
	return f.Close, nil
}

// lockLeave has isLeaving report true until unlock is called or this process ends. It waits until
// swap is on that the pod is turning on.
func lockLeave() (unlock func() error, err error) { return lockPod(syscall.LOCK_EX) }

// isLeaving reports whether another process of the pod takes the device away. If the container
// ended now, that process would be killed with what it has left to do.
func isLeaving() bool {
	unlock, err := lockPod(syscall.LOCK_SH | syscall.LOCK_NB)
	if err != nil {
		return errors.Is(err, syscall.EWOULDBLOCK)
	}
	_ = unlock() // only read from
	return false
}

// exclusively calls f while no other process of the pod turns swap off. Once ctx has ended it calls
// nothing.
func exclusively(ctx context.Context, pause time.Duration, f func() error) error {
	for ctx.Err() == nil {
		unlock, err := lockPod(syscall.LOCK_EX | syscall.LOCK_NB)
		if err == nil {
			return errors.Join(f(), unlock())
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return ctx.Err()
}
