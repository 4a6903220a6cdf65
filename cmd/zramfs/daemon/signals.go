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

// catchSignals takes SIGTERM and SIGINT, and makes the process deaf to the other signals that would end or stop it: a
// terminal that closes, a pipe that nobody reads, a key pressed in the wrong window must not take the swap away.
func catchSignals() signalQueue {
	q := make(signalQueue, 4)
	signal.Notify(q, syscall.SIGTERM, syscall.SIGINT)
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	return q
}

func (q signalQueue) stop() { signal.Stop(q) }

// waitForEnd returns when the device has been unmounted, be it by us or by others.
func (d *device) waitForEnd(ctx context.Context, signals signalQueue) {
	ended := ctx.Done()
	for {
		select {
		case <-d.served:
			return
		case s := <-signals:
			d.tryUnmount(s.String())
		case <-ended:
			ended = nil
			d.tryUnmount(context.Cause(ctx).Error())
		}
	}
}

// tryUnmount unmounts unless somebody uses the device. The kernel decides: the count only makes the message.
func (d *device) tryUnmount(why string) {
	if n := d.server.OpenCount(); n > 0 {
		d.log.Warn(refusal(d.cfg.Dir, n), "reason", why)
		return
	}
	if err := d.server.Unmount(); err != nil {
		d.log.Warn("still mounted: "+err.Error(), "reason", why)
	}
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
