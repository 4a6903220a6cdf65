// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// signalQueue holds the signals that wait to be looked at.
type signalQueue chan os.Signal

// catchSignals takes SIGTERM and SIGINT, and makes the process deaf to the other signals that would
// end or stop it: a terminal that closes, a pipe that nobody reads, a key pressed in the wrong
// window must not take the swap away.
func catchSignals() signalQueue {
	q := make(signalQueue, 4)
	signal.Notify(q, syscall.SIGTERM, syscall.SIGINT)
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	return q
}

func (q signalQueue) stop() { signal.Stop(q) }

// waitForEnd returns when the device has gone, be it by us or by others.
func (k *keeper) waitForEnd(ctx context.Context, signals signalQueue) error {
	over := ctx.Done()
	for {
		select {
		case err := <-k.ended:
			k.logger.Info("unmounted", "dir", k.cfg.Dir)
			return err
		case s := <-signals:
			k.tryUnmount(s.String())
		case <-over:
			over = nil
			k.tryUnmount(context.Cause(ctx).Error())
		}
	}
}

// tryUnmount unmounts unless somebody uses the device. The kernel decides: the count only makes the
// message. It goes on beside what else there is to do, because it may have to wait for a worker.
func (k *keeper) tryUnmount(why string) {
	go func() {
		if n := k.session.OpenCount(); n > 0 {
			k.logger.Warn(refusal(k.cfg.Dir, n), "reason", why)
			return
		}
		if err := k.session.Unmount(); err != nil {
			k.logger.Warn("still mounted: "+err.Error(), "reason", why)
		}
	}()
}

// refusal is what is logged for a request to end while the data file is open.
func refusal(dir string, opens int) string {
	times := fmt.Sprintf("%d times", opens)
	if opens == 1 {
		times = "once"
	}
	return fmt.Sprintf("%s is open %s: swapoff and detach the loop device first, or zramfs down %s",
		filepath.Join("dev", deviceName), times, dir)
}
