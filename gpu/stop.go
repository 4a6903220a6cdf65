// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"

	"github.com/zramfs/zramfs/codec/bulk"
)

// enter begins a piece, or something else that uses the engine's memory, unless there is nothing
// that could do it.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.context.Err(); err != nil || e.stopped {
		return errors.Join(bulk.ErrDead, err)
	}
	e.inside++
	return nil
}

// exit ends what enter began.
func (e *Engine) exit() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.out()
}

// out counts one less that is inside. e.mu is held.
func (e *Engine) out() {
	e.inside--
	e.left.Broadcast()
}

// drain empties the streams after an error. Where that fails nobody knows what they may yet do with
// the slot, so that no other piece may have it.
func (e *Engine) drain(s *slot) error {
	err := s.drain()
	if err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.stopped = true
	}
	return err
}

// leave ends a piece. Where the device may still write to the batch's pages it is stopped, and
// where that is not certain the error says so.
func (e *Engine) leave(s *slot, err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.out()
	if s.writing {
		s.writing = false
		if stopErr := e.stop(); stopErr != nil {
			err = errors.Join(bulk.ErrTorn, err, stopErr)
		}
	}
	for _, r := range s.used {
		r.users--
	}
	s.used = s.used[:0]
	if e.stopped || e.context.Err() != nil {
		err = errors.Join(bulk.ErrDead, err)
	}
	return err
}

// stop ends the context, and with it memory that others inside use, so they must have ended before.
// e.mu is held.
func (e *Engine) stop() error {
	e.stopped = true
	for e.inside > 0 {
		e.left.Wait()
	}
	return e.context.Stop()
}
