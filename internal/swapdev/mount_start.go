// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// openTime bounds the wait for the first answer of a new device.
const openTime = 3 * time.Second

// StartDevice starts the server of cfg, and returns its report once the data file can be opened.
// After an error there is no process, no mount and no new directory.
func StartDevice(cfg zramfsd.Config) (_ *status.Report, err error) {
	program, err := zramfsd.Find()
	if err != nil {
		return nil, err
	}
	if err := checkSpace(cfg.Disksize); err != nil {
		return nil, err
	}
	if cfg.Dir, cfg.CreatedDir, err = prepareDir(cfg.Dir); err != nil {
		return nil, err
	}
	report, err := zramfsd.Start(program, cfg.Args(zramfsd.Keeper))
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

// ServeHere replaces this process by the server of cfg, which prints the path of the data file on
// standard output, unless it is to be quiet, and its log on standard error. It returns only an
// error: then there is no mount and no new directory.
func ServeHere(cfg zramfsd.Config, quiet bool) error {
	program, err := zramfsd.Find()
	if err != nil {
		return err
	}
	if err := checkSpace(cfg.Disksize); err != nil {
		return err
	}
	if cfg.Dir, cfg.CreatedDir, err = prepareDir(cfg.Dir); err != nil {
		return err
	}
	cfg.Foreground, cfg.Quiet = true, quiet
	err = syscall.Exec(program, append([]string{zramfsd.ServingName}, cfg.Args(zramfsd.Keeper)...), os.Environ())
	return giveUpDir(cfg, fmt.Errorf("start %s: %w", program, err))
}
