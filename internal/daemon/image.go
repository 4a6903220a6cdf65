// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/store"
)

// An image is the memory of a device, and what its keeper knows of it. A device gets another one
// when block/zram0/reset or disksize is written: the worker that serves it is replaced as by an
// upgrade.
type image struct {
	number   uint64        // of the device's images, from 1; immutable
	memory   *store.Memory // immutable
	disksize uint64        // bytes, 0 for a device that has no size yet; immutable
	// backing is where its pages are written back to; nil for nowhere. Immutable once the device
	// has a size.
	backing atomic.Pointer[backing]
	// begun: a worker has laid the image out, and may have stored pages in it.
	begun atomic.Bool
	// superblock is a copy of the image's, nil until a worker with this image was ready, and where
	// it cannot be read.
	superblock atomic.Pointer[[]byte]
}

// makeMemory makes the file of the first image.
func (k *keeper) makeMemory() error {
	first, err := k.newImage(k.cfg.Disksize)
	if err != nil {
		return err
	}
	k.image.Store(first)
	k.undo = append(k.undo, func() error { return k.image.Load().close(nil) })
	if k.cfg.Backing != "" {
		b, err := openBacking(k.cfg.Backing)
		if err != nil {
			return err
		}
		first.backing.Store(b)
	}
	k.cfg.Memory = first.memory.Kind()
	return nil
}

func (k *keeper) newImage(disksize uint64) (*image, error) {
	memory, err := store.NewMemory(k.cfg.Memory)
	if err != nil {
		return nil, err
	}
	k.images++
	return &image{number: k.images, memory: memory, disksize: disksize}, nil
}

// close releases the memory of an image that no worker serves, and its backing device unless that
// is the next image's; nil for none.
func (i *image) close(next *image) error {
	err := i.memory.Close()
	if b := i.backing.Load(); next == nil || next.backing.Load() != b {
		err = errors.Join(err, b.close())
	}
	return err
}

// openPace is far below how fast a worker looks through what is stored before it serves, in bytes a
// second: a busy machine took 0.4 s a GiB.
const openPace = 512 << 20

// openTime is how long a worker may look through what is stored.
func (i *image) openTime() time.Duration {
	if !i.begun.Load() {
		return 0
	}
	n, err := i.memory.Taken()
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(float64(n) / openPace * float64(time.Second))
}

// keepSuperblock copies the superblock of the image.
func (i *image) keepSuperblock(logger *slog.Logger) {
	b, err := i.memory.Superblock()
	if err != nil {
		logger.Warn("keep a copy of the superblock: " + err.Error())
		return
	}
	i.superblock.Store(&b)
}

// restoreSuperblock repairs the superblock, without which no process can open the image.
func (i *image) restoreSuperblock(logger *slog.Logger) {
	kept := i.superblock.Load()
	if kept == nil {
		return
	}
	restored, err := i.memory.RestoreSuperblock(*kept)
	switch {
	case err != nil:
		logger.Error("the superblock of the image is damaged: " + err.Error())
	case restored:
		logger.Error("the superblock of the image was damaged and is restored: test the memory of the machine")
	}
}

// A failedResize is the last request to make the device anew that has failed. If the worker that
// asked was replaced, the next one carries the request out again, and learns of it.
type failedResize struct {
	request uint64 // its number
	deaths  int    // of workers with another image, which did not say why
	final   bool   // another attempt is in vain
}

// resizeDeaths is how many workers may die of another image: some of them may be killed for other
// reasons.
const resizeDeaths = 3

// resize makes the device anew with that size, empty, by a worker with another image. The request
// that asked for it waits in the memory of requests, and the next worker answers it. Where there
// will be none, the present one learns so.
func (k *keeper) resize(asking *process, request, disksize uint64) {
	k.resizing.Lock()
	defer k.resizing.Unlock()
	if k.failed.request != request {
		k.failed = failedResize{request: request}
	}
	if !k.failed.final {
		err := k.makeAnew(asking, disksize)
		if err == nil {
			return
		}
		k.failed.note(err)
		k.logger.Error(fmt.Sprintf("the device is not made anew with %d bytes and stays as it is: %v", disksize, err))
	}
	asking.tell(keeperMsg{Refused: true}) // it may have died, and another one asks
}

// note takes down why an attempt has failed.
func (f *failedResize) note(why error) {
	var says *status.StartError
	switch {
	case errors.Is(why, errReplaced), errors.Is(why, errDeviceEnded):
	case errors.Is(why, errNotServed) && !errors.As(why, &says):
		f.deaths++
		f.final = f.deaths == resizeDeaths
	default:
		f.final = true
	}
}

// makeAnew ends without effect once another worker serves: that one carries the request out again,
// and knows whether the data file is in use by then.
func (k *keeper) makeAnew(asking *process, disksize uint64) error {
	next, err := k.newImage(disksize)
	if err != nil {
		return err
	}
	if before := k.image.Load(); before.disksize == 0 && disksize != 0 {
		next.backing.Store(before.backing.Load())
	}
	for end := time.Now().Add(workerPatience); ; time.Sleep(resizePause) {
		before := k.image.Load()
		request := &upgradeRequest{image: next, asking: asking, answer: make(chan control.UpgradeReport, 1)}
		report := k.ask(request)
		switch {
		case report.Error == "":
			k.logger.Info("the device was made anew", "disksize", disksize)
			return before.close(next)
		case !errors.Is(request.why, errUpgrading) || time.Now().After(end):
			return errors.Join(request.why, next.memory.Close())
		}
	}
}

// resizePause is the time between two attempts to resize a device whose worker is being replaced:
// it answers a moment before it is ready.
const resizePause = 10 * time.Millisecond
