// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os"
	"time"

	"zramfs/fusefs"
)

// A program is what workers are started from: this one, or one that an upgrade named. The file stays open, so that it is
// there when a worker dies, whatever has become of its name.
type program struct{ file *os.File }

func (p program) path() string {
	if p.file == nil {
		return "/proc/self/exe"
	}
	return fmt.Sprintf("/proc/%d/fd/%d", pid(), p.file.Fd())
}

func openProgram(path string) (program, error) {
	f, err := os.Open(path)
	if err != nil {
		return program{}, fmt.Errorf("open the new program: %w", err)
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0) {
		err = errors.New("it is no program that may be executed")
	}
	if err != nil {
		return program{}, errors.Join(fmt.Errorf("new program %s: %w", path, err), f.Close())
	}
	return program{f}, nil
}

// letGo closes the file; a program that runs needs it no more.
func (p program) letGo() {
	if p.file != nil {
		_ = p.file.Close() // only executed from
	}
}

// An upgradeRequest asks the keeper to go on with workers of another program.
type upgradeRequest struct {
	Binary string `json:"binary"` // path of the program, absolute
	answer chan UpgradeReport
}

// UpgradeReport is how an upgrade went.
type UpgradeReport struct {
	// Error says why nothing has changed; empty when it went well.
	Error string `json:"error,omitempty"`
	// WorkerPID serves now, OldPID did before; 0 where none was alive.
	WorkerPID int `json:"worker_pid"`
	OldPID    int `json:"old_pid"`
	// WithoutService is how long no request was worked on.
	WithoutService time.Duration `json:"without_service"`
}

// upgrade replaces the worker by one of another program. That one first makes sure that it can read what lies in memory;
// until then nothing has changed.
func (k *keeper) upgrade(binary string) UpgradeReport {
	old, before := k.process, k.program
	next, err := k.prepareOther(binary)
	if err != nil {
		return UpgradeReport{Error: err.Error(), WorkerPID: old.pid(), OldPID: old.pid()}
	}
	if k.cfg.Transport == fusefs.TransportUring {
		_ = k.session.Touch(touchTime) // the worker refuses if that was needed and did not help
	}
	began := time.Now()
	switch err := old.stop(k.session.SurvivesCrash); {
	case errors.Is(err, errRefused):
		k.program.letGo()
		k.program = before
		return UpgradeReport{Error: errors.Join(err, next.kill()).Error(), WorkerPID: old.pid(), OldPID: old.pid()}
	case err != nil:
		k.log.Warn("the old worker: " + err.Error())
	}
	r := UpgradeReport{OldPID: old.pid(), WorkerPID: next.pid()}
	k.process = next
	if _, err := k.serveWith(next); err != nil {
		k.log.Error("the new worker: " + err.Error())
		r.Error = fmt.Sprintf("the new program does not serve, the old one goes on: %v", err)
		k.program.letGo()
		k.program = before
		if err := next.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			k.log.Warn("end the new worker: " + err.Error())
		}
		return r // its death is the next news, and the old program is what follows it
	}
	before.letGo()
	r.WithoutService = k.serving.Sub(began)
	k.log.Info("another worker serves", "pid", next.pid(), "without_service", r.WithoutService.Round(time.Microsecond).String())
	return r
}

// touchTime bounds a look at the data file that nobody needs to answer.
const touchTime = time.Second

// prepareOther starts a worker of another program, which becomes the keeper's, and waits until it is prepared.
func (k *keeper) prepareOther(binary string) (*process, error) {
	other, err := openProgram(binary)
	if err != nil {
		return nil, err
	}
	before := k.program
	k.program = other
	next, err := k.startWorker()
	if err != nil {
		k.program = before
		other.letGo()
		return nil, err
	}
	return next, nil
}

// startAgain starts a worker of another program where none is left. One that does not serve is not tried again.
func (k *keeper) startAgain(binary string) UpgradeReport {
	before := k.program
	next, err := k.prepareOther(binary)
	if err == nil {
		if _, err = k.serveWith(next); err != nil {
			err = errors.Join(err, next.kill())
			k.program.letGo()
			k.program = before
		}
	}
	if err != nil {
		k.log.Error("the new worker: " + err.Error())
		return UpgradeReport{Error: err.Error()}
	}
	before.letGo()
	k.process = next
	k.log.Info("a worker serves again", "pid", next.pid())
	return UpgradeReport{WorkerPID: next.pid()}
}
