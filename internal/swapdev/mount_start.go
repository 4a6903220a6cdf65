// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/internal/daemon"
	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/status"
)

// openTime bounds the wait for the first answer of a new device.
const openTime = 3 * time.Second

// StartDevice starts a process of this program, with args, that serves cfg, and returns its report
// once the data file can be opened. After an error there is no process, no mount and no new
// directory.
func StartDevice(cfg daemon.Config, args func(daemon.Config) []string) (_ *status.Report, err error) {
	if err := checkSpace(cfg.Disksize); err != nil {
		return nil, err
	}
	if cfg.Dir, cfg.CreatedDir, err = prepareDir(cfg.Dir); err != nil {
		return nil, err
	}
	report, err := daemon.Spawn(args(cfg))
	if err != nil {
		return nil, giveUpDir(cfg, errors.Join(err, removeDead(cfg.Dir)))
	}
	report.Dir = cfg.Dir // which JSON has brought here in UTF-8
	if p := protect.CheckView(host.Local); p.State != status.OK {
		report.Protections = append(report.Protections, p)
	}
	data := Device{Dir: cfg.Dir}.Data()
	if _, err := helper.CallTimeout(openTime, helper.Open, data); err != nil {
		err = fmt.Errorf("open %s: %w", data, err)
		return nil, errors.Join(err, StopDevice(report))
	}
	return report, nil
}

// removeDead removes a mount that a serving process has left: it died between its mount and its
// announcement, or could not unmount. A live mount is of another command that was faster.
func removeDead(dir string) error {
	mounted, err := isMounted(dir)
	if err != nil || !mounted {
		return err
	}
	// The kernel answers for the mount point itself, which it knows.
	_, err = helper.CallTimeout(helper.AnswerTime, helper.Open, filepath.Join(dir, notesFile))
	if !errors.Is(err, syscall.ENOTCONN) {
		return nil
	}
	return detachMount(dir)
}

// StopDevice undoes StartDevice. Where this process can start none that unmounts the device, since
// it has no descriptor or memory left, the keeper unmounts it.
func StopDevice(report *status.Report) error {
	err := UnmountAndWait(Device{Dir: report.Dir, Keeper: report.PID})
	if err == nil {
		return nil
	}
	if kerr := endChild(report.PID, keeperEndTime); kerr != nil {
		return errors.Join(err, kerr)
	}
	return nil
}

// keeperEndTime bounds the wait for a keeper that was told to end. It refuses while its device is
// in use.
const keeperEndTime = 5 * time.Second

// ServeHere serves cfg in this process until ctx ends or the device is unmounted.
func ServeHere(ctx context.Context, cfg daemon.Config) (err error) {
	if err := checkSpace(cfg.Disksize); err != nil {
		return err
	}
	err = cfg.Namespace.Do(func() error {
		cfg.Dir, cfg.CreatedDir, err = prepareDir(cfg.Dir)
		return err
	})
	if err != nil {
		return err
	}
	err = daemon.Run(ctx, cfg, nil)
	return cfg.Namespace.Do(func() error { return giveUpDir(cfg, err) })
}
