// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/fusefs"
)

// signalQueue has the signals that have arrived.
type signalQueue chan os.Signal

// catchSignals takes SIGTERM and SIGINT, and ignores the other signals that would end or stop the
// process: a closing terminal, a pipe without a reader, a key in the wrong window must not end
// swap.
func catchSignals() signalQueue {
	q := make(signalQueue, 4)
	signal.Notify(q, syscall.SIGTERM, syscall.SIGINT)
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	return q
}

func (q signalQueue) stop() { signal.Stop(q) }

// waitForEnd returns when the device is gone.
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

// tryUnmount unmounts in a goroutine of its own, since it may have to wait for a worker. The kernel
// refuses while the device is in use; the count is for the message.
func (k *keeper) tryUnmount(why string) {
	go func() {
		if n := k.session.OpenCount(); n > 0 && !k.session.OnlyCopied() {
			k.logger.Warn(refusal(k.cfg.Dir, n), "reason", why)
			return
		}
		if k.extraDevices.askToEnd(why) {
			k.logger.Info("the extra devices end first", "reason", why)
			return
		}
		if err := k.session.Unmount(); err != nil && !k.session.OnlyCopied() {
			k.logger.Warn("still mounted: "+err.Error(), "reason", why)
			return
		}
		k.endCopies()
	}()
}

// copiesTime is how long the device may take to end once it is unmounted, before the keeper takes
// it that copies of its mounts in other namespaces keep it.
const copiesTime = 300 * time.Millisecond

// endCopies ends a device that is unmounted and yet goes on, once no copy of it is in use.
func (k *keeper) endCopies() {
	for said := false; ; {
		select {
		case <-k.quiet:
			return
		case <-time.After(copiesTime):
		}
		ended, err := k.session.EndCopies()
		switch {
		case err == nil && !ended: // it was about to end by itself
			return
		case err == nil:
			k.logger.Info("ended for the other mount namespaces, which have copies of the mount")
			return
		case !said:
			said = true
			k.logger.Warn("unmounted here, but other mount namespaces have copies of the mount: " + err.Error())
		}
		if !errors.Is(err, fusefs.ErrInUse) {
			return
		}
	}
}

// refusal is the log line for a request to end while the data file is open.
func refusal(dir string, opens int) string {
	times := fmt.Sprintf("%d times", opens)
	if opens == 1 {
		times = "once"
	}
	return fmt.Sprintf("%s is open %s: swapoff and detach the loop device first, or zramfs down %s",
		filepath.Join("dev", deviceName), times, dir)
}
