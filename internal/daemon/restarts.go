// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

const (
	// recentTime is how far back Status.RestartsRecent looks.
	recentTime = 10 * time.Minute
	// maxRecent bounds the times of deaths that the keeper remembers and tells a worker.
	maxRecent = 512
)

// restarts are the deaths of a device's workers. The keeper counts them and tells each worker,
// which shows them.
type restarts struct {
	// Count is how many workers have died.
	Count int `json:"restarts"`
	// Recent has the times of the last deaths, oldest first, nanoseconds of Unix time; maxRecent at
	// most.
	Recent []int64 `json:"recent_restarts,omitempty"`
	// LastExit says how the last one ended.
	LastExit string `json:"last_exit,omitempty"`
}

// note records a death.
func (r *restarts) note(died time.Time, how error) {
	r.Count++
	r.Recent = append(r.Recent, died.UnixNano())
	r.Recent = r.Recent[max(0, len(r.Recent)-maxRecent):]
	r.LastExit = describeExit(how)
}

// since returns the number of recent deaths after a time.
func (r *restarts) since(when time.Time) int {
	n := 0
	for _, at := range r.Recent {
		if at > when.UnixNano() {
			n++
		}
	}
	return n
}

// last returns the time of the last death, nil where no worker has died.
func (r *restarts) last() *time.Time {
	if len(r.Recent) == 0 {
		return nil
	}
	at := time.Unix(0, r.Recent[len(r.Recent)-1])
	return &at
}

// An exitReason is how a process ended, in plain words.
type exitReason struct{ how error }

func (r exitReason) Error() string { return describeExit(r.how) }
func (r exitReason) Unwrap() error { return r.how }

// describeExit says how a process ended.
func describeExit(err error) string {
	if err == nil {
		return "ended by itself"
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err.Error()
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("killed by signal %d", status.Signal())
	}
	return fmt.Sprintf("ended with exit code %d", exit.ExitCode())
}
