// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"

	"github.com/zramfs/zramfs/codec/bulk"
)

// enter begins a use of the engine's memory. It fails once the engine has ended.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.context.Err(); err != nil || e.stopped {
		return errors.Join(bulk.ErrDead, err)
	}
	e.inside++
	return nil
}

// out ends the use. e.mu is held.
func (e *Engine) out() {
	e.inside--
	e.left.Broadcast()
}

// drain empties the streams after an error. If that fails the device may still use the slot, so the
// engine takes no further piece.
func (e *Engine) drain(s *slot) error {
	err := s.drain()
	if err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.stopped = true
	}
	return err
}

// leave ends a piece. If the device may still write to the batch's pages it is stopped; if that is
// uncertain the error wraps [bulk.ErrTorn].
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

// stop ends the context, which frees memory that others inside use, so it waits for them first.
// e.mu is held.
func (e *Engine) stop() error {
	e.stopped = true
	for e.inside > 0 {
		e.left.Wait()
	}
	return e.context.Stop()
}
