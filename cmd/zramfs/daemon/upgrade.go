// SPDX-License-Identifier: Apache-2.0

package daemon

import "time"

// An upgradeRequest asks the keeper to go on with workers of another program.
type upgradeRequest struct {
	program program
	answer  chan UpgradeReport // has room for the one answer
}

// refuse answers a request of which nothing has come.
func (r *upgradeRequest) refuse(why error) {
	r.program.letGo()
	r.answer <- UpgradeReport{Error: why.Error()}
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

// upgrade goes on with workers of the program at a path. The candidate first makes sure that it can
// read what lies in memory; until then nothing has changed.
func (k *keeper) upgrade(path string) UpgradeReport {
	p, err := openProgram(path)
	if err != nil {
		return UpgradeReport{Error: err.Error()}
	}
	r := &upgradeRequest{program: p, answer: make(chan UpgradeReport, 1)}
	select {
	case k.events <- event{kind: evAsked, request: r}:
		return <-r.answer
	case <-k.quiet:
		p.letGo()
		return UpgradeReport{Error: errDeviceEnded.Error()}
	}
}
