// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/store"
)

// deviceName is the device's name below dev and block.
const deviceName = "zram0"

// Config describes the device to serve and how this program does it.
type Config struct {
	zramfsd.Config
	// Version is the version of the program for Status.
	Version string
	// Early are the protections that the process has or lacks since before it had this Config.
	Early []status.Protection
	// Namespace is what protect.LeaveNamespace returned: where paths are looked up.
	Namespace *protect.Namespace
	// WorkArgs returns the arguments that make this program call Work with a configuration.
	WorkArgs func(zramfsd.Config) []string
	// DeviceArgs returns the arguments that make this program the keeper of a configuration, for
	// extra devices; nil where there can be none.
	DeviceArgs func(zramfsd.Config) []string
	// OnReady, when set, is told the report that a spawned process would announce. An error of it
	// ends the process.
	OnReady func(*status.Report) error
	// OnEnd, when set, is called by the keeper of a device that was announced, once that has ended.
	// The text is logged, line by line.
	OnEnd func(io.Writer) error
}

// Run is the keeper of a device until that is unmounted. When the device can be opened, Run
// announces it on ready, zramfsd.ReadyFD, and to cfg.OnReady; ready may be nil. Run
// closes ready.
//
// SIGTERM, SIGINT and the end of ctx unmount the device unless its data file is open; then Run logs
// the reason and goes on.
func Run(ctx context.Context, cfg Config, ready *os.File) error {
	err := serve(ctx, cfg, func(r *status.Report) error { return tell(cfg, ready, r) })
	if ready == nil {
		if err != nil {
			return startError(err)
		}
		return nil
	}
	if err != nil {
		// It is lost where the device was announced, or the command that started us has ended.
		_ = status.WriteFailure(ready, startError(err))
	}
	return errors.Join(err, ignoreClosed(ready.Close()))
}

// tell announces the device.
func tell(cfg Config, ready *os.File, r *status.Report) error {
	if ready != nil {
		// An error means that the command which started us has ended: its user does not know of the
		// device.
		if err := errors.Join(status.WriteReady(ready, r), ready.Close()); err != nil {
			return err
		}
	}
	if cfg.OnReady != nil {
		return cfg.OnReady(r)
	}
	return nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// startError gives an error the exit code for the command that waits.
func startError(err error) *status.StartError {
	code := 1
	var worker *status.StartError // the error of a worker, from another process
	if errors.As(err, &worker) {
		code = worker.Code
	}
	if errors.Is(err, store.ErrConfig) {
		code = 2 // a value that cannot be used
	}
	return &status.StartError{Message: err.Error(), Code: code, Cause: err}
}
