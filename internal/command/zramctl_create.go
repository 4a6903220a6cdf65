// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/zramctl"
	"github.com/zramfs/zramfs/loopsetup"
)

// zramctlCreate makes a device with a loop device that stays. One that exists is ended first, as
// zramctl resets one.
func zramctlCreate(out io.Writer, o zramctl.Options, conf *config.Config, all []zramctl.Numbered) error {
	z := zramctl.Numbered{Number: zramctl.Free(all)}
	name := zramctl.NameOf(z.Number)
	if !o.Find {
		var ok bool
		if z, ok = zramctl.Pick(all, o.Devices[0]); !ok {
			return noDevice(o.Devices[0])
		}
		name = zramctl.Path(o.Devices[0])
	}
	algorithm, err := zramctlAlgorithm(o)
	if err != nil {
		return fmt.Errorf("%s: failed to set algorithm: %s", name, zramctl.Message(syscall.EINVAL))
	}
	if o.Size == 0 {
		return fmt.Errorf("%s: failed to set disksize (0 bytes): %s", name, zramctl.Message(syscall.EINVAL))
	}
	dir := zramctl.Dir(conf, z.Number)
	if z.Device != nil {
		dir = z.Device.Dir
		if err := endDevice(*z.Device); err != nil {
			return fmt.Errorf("%s: failed to reset: %s", name, zramctlMessage(err))
		}
	}
	loop, err := makeDevice(dir, o.Size, algorithm)
	for o.Find && errors.Is(err, errTaken) {
		all = append(all, zramctl.Numbered{Number: z.Number})
		z.Number = zramctl.Free(all)
		name = zramctl.NameOf(z.Number)
		loop, err = makeDevice(zramctl.Dir(conf, z.Number), o.Size, algorithm)
	}
	if err != nil {
		return fmt.Errorf("%s: failed to set disksize (%d bytes): %s", name, o.Size, zramctlMessage(err))
	}
	if o.Find {
		_, err = fmt.Fprintln(out, loop)
	}
	return err
}

// zramctlAlgorithm returns the setting that -a and -p ask for.
func zramctlAlgorithm(o zramctl.Options) (string, error) {
	setting := o.Algorithm
	if setting == "" {
		setting = "adaptive"
	}
	if o.Params != "" {
		setting += "(" + o.Params + ")"
	}
	_, err := codec.Parse(setting)
	return setting, err
}

// errTaken means that another command is making a device at the same DIR, or has.
var errTaken = errors.New("another command was faster")

// makeDevice serves a device on dir and attaches a loop device to it, which stays until the device
// is ended. After a failure, or a signal, there is neither.
func makeDevice(dir string, size uint64, algorithm string) (loop string, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills the program
	if err := runQuiet("mount", "--"+flagSize, strconv.FormatUint(term.RoundToPages(size), 10), "--"+flagAlgorithm, algorithm, dir); err != nil {
		if swapdev.Taken(dir) {
			err = fmt.Errorf("%w: %w", errTaken, err)
		}
		return "", err
	}
	dev, err := loopsetup.Attach(filepath.Join(dir, swapdev.DataFile), &loopsetup.Config{DiscardMax: discardMax})
	if err == nil {
		loop = dev.Path()
		err = errors.Join(dev.Keep(), dev.Close())
	}
	if err == nil && ctx.Err() != nil {
		err = imageio.ErrInterrupted
	}
	if err != nil {
		return "", errors.Join(err, runQuiet("down", dir))
	}
	return loop, nil
}

// discardMax bounds a discard request of the loop device, in bytes, as up does.
const discardMax = 4 << 20
