// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/zramfs/zramfs/cmd/zramfs/aside"
	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
	"github.com/zramfs/zramfs/cmd/zramfs/devices"
)

// startDevice starts a process that serves cfg, and returns its report once the data file can be
// opened. After an error there is no process, no mount and no new directory.
func startDevice(cfg daemon.Config) (_ *daemon.Report, err error) {
	if err := checkSpace(cfg.Disksize); err != nil {
		return nil, err
	}
	if cfg.Dir, cfg.CreatedDir, err = prepareDir(cfg.Dir); err != nil {
		return nil, err
	}
	report, err := daemon.Spawn(servingArgs(cfg))
	if err != nil {
		return nil, giveUpDir(cfg, errors.Join(fromProcess(err), removeDead(cfg.Dir)))
	}
	data := devices.Device{Dir: cfg.Dir}.Data()
	if err := tryOpen(data); err != nil {
		err = fmt.Errorf("open %s: %w", data, err)
		return nil, errors.Join(err, stopDevice(report))
	}
	return report, nil
}

// fromProcess gives an error of the serving process the exit code that the process wanted.
func fromProcess(err error) error {
	var start *daemon.StartError
	if errors.As(err, &start) {
		return &exitError{code: start.Code, cause: err}
	}
	return err
}

// removeDead unmounts a serving process that died between its mount and its announcement. A live
// mount is of another command that was faster.
func removeDead(dir string) error {
	mounted, err := isMounted(dir)
	if err != nil || !mounted {
		return err
	}
	_, err = aside.Within(aside.AnswerTime, aside.Stat, dir)
	if !errors.Is(err, syscall.ENOTCONN) {
		return nil
	}
	return detachMount(dir)
}

// stopDevice undoes startDevice.
func stopDevice(report *daemon.Report) error {
	return unmountAndWait(devices.Device{Dir: report.Dir, Keeper: report.PID})
}
