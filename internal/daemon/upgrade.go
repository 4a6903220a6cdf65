// SPDX-License-Identifier: Apache-2.0

package daemon

import "github.com/zramfs/zramfs/internal/control"

// An upgradeRequest asks the keeper to go on with workers of another program, or with another
// image.
type upgradeRequest struct {
	program program
	image   *image                     // for the present program; nil for the present image
	asking  *process                   // the worker that has asked for the image; nil without one
	why     error                      // nil after success; known with the answer
	answer  chan control.UpgradeReport // has room for the one answer
}

// refuse answers a request that was not begun.
func (r *upgradeRequest) refuse(why error) {
	r.program.close()
	r.why = why
	r.answer <- control.UpgradeReport{Error: why.Error()}
}

// upgrade goes on with workers of the program at a path. The candidate first checks that it can
// open the image; until then nothing has changed.
func (k *keeper) upgrade(path string) control.UpgradeReport {
	var p program
	err := k.cfg.Namespace.Do(func() (err error) {
		p, err = openProgram(path)
		return err
	})
	if err != nil {
		return control.UpgradeReport{Error: err.Error()}
	}
	return k.ask(&upgradeRequest{program: p, answer: make(chan control.UpgradeReport, 1)})
}

// ask passes a request to the supervision and waits for its answer.
func (k *keeper) ask(r *upgradeRequest) control.UpgradeReport {
	select {
	case k.events <- event{kind: evAsked, request: r}:
		return <-r.answer
	case <-k.quiet:
		r.program.close()
		r.why = errDeviceEnded
		return control.UpgradeReport{Error: errDeviceEnded.Error()}
	}
}
