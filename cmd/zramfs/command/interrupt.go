// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/control"
	"github.com/zramfs/zramfs/cmd/zramfs/imaging"
)

// interruptible is a context that ends when the user wants the command to.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// endingTime is how long a command that is interrupted may take to clean up.
const endingTime = 500 * time.Millisecond

// obey runs f and returns what it returns, in words. When ctx ends, f has endingTime to clean up
// and is left behind then: it may wait for a process that does not answer.
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
			return imaging.ErrInterrupted
		}
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return imaging.ErrInterrupted
	}
	return err
}

// explainKeeper says what users other than root lack where no keeper could be asked.
func explainKeeper(err error) error {
	if errors.Is(err, control.ErrNoKeeper) && os.Geteuid() != 0 {
		return errors.New("permission denied: run as root")
	}
	return err
}
