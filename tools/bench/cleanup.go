// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"
)

// A cleanup holds what has to be undone, in the order in which it was done.
type cleanup struct {
	steps []func() error
}

// add remembers how to undo what has just been done.
func (c *cleanup) add(step func() error) { c.steps = append(c.steps, step) }

// undo runs every step, the latest first. A step that fails does not keep the
// others from running.
func (c *cleanup) undo() error {
	var failed []error
	for len(c.steps) > 0 {
		last := len(c.steps) - 1
		failed = append(failed, c.steps[last]())
		c.steps = c.steps[:last]
	}
	return errors.Join(failed...)
}

const (
	retryInterval = 50 * time.Millisecond
	retryTimeout  = 10 * time.Second
)

// retry calls step until it succeeds or time is up, and returns its last error. A
// device is busy for a moment after its last user has gone, because udev looks at
// it.
func retry(step func() error) error {
	deadline := time.Now().Add(retryTimeout)
	for {
		err := step()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(retryInterval)
	}
}
