// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// interruptible returns a context that SIGINT and SIGTERM end.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// endingTime bounds the cleanup of an interrupted command.
const endingTime = 500 * time.Millisecond

// obey runs f and returns its error. When ctx ends, f has endingTime to clean up; after that obey
// abandons it, since it may wait for a process that does not answer.
func obey(ctx context.Context, f func() error) error {
	done := make(chan error, 1) // room for one, so that a late f does not wait
	go func() { done <- f() }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(endingTime):
			return imageio.ErrInterrupted
		}
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return imageio.ErrInterrupted
	}
	return err
}

// explainKeeper explains why no keeper of d answers: it is dead, or refuses users other than root.
func explainKeeper(d swapdev.Device, err error) error {
	switch {
	case !errors.Is(err, control.ErrNoKeeper):
		return err
	case errors.Is(d.Err, swapdev.ErrDead):
		return swapdev.ErrDead
	case os.Geteuid() != 0:
		return errors.New("permission denied: run as root")
	}
	return err
}
