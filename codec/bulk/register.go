// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"errors"
	"fmt"
	"slices"
)

// Register tells every engine that is a [Registrar] of memory that batches to come have their
// objects or pages in; with write pages are brought there. The memory has to be a mapping, not of
// Go's heap, beginning at a multiple of a page, and must stay where it is until
// [Planner.Unregister] or [Planner.Close]. No two regions overlap. An error says that an engine
// goes on without, and nothing else. It waits for the batch that runs.
func (p *Planner) Register(region []byte, write bool) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.closed {
		return fmt.Errorf("register %d bytes: %w", len(region), ErrClosed)
	}
	if len(region) == 0 {
		return fmt.Errorf("%w: register no memory", ErrBatch)
	}
	var errs []error
	for _, m := range p.engines {
		r, ok := m.Engine.(Registrar)
		if !ok || m.dead.Load() {
			continue
		}
		if err := r.Register(region, write); err != nil {
			errs = append(errs, fmt.Errorf("engine %s: %w", m.Name(), err))
			continue
		}
		m.known = append(m.known, region)
	}
	return errors.Join(errs...)
}

// Unregister undoes Register for those engines that took the region, dead ones too. It waits for
// the batch that runs. The memory may be unmapped afterwards, whatever the answer, unless a batch
// ended with [ErrTorn]: then it must stay as it is to the end of the program.
func (p *Planner) Unregister(region []byte) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.closed || len(region) == 0 {
		return nil
	}
	var errs []error
	for _, m := range p.engines {
		i := slices.IndexFunc(m.known, func(k []byte) bool { return &k[0] == &region[0] && len(k) == len(region) })
		if i < 0 {
			continue
		}
		m.known = slices.Delete(m.known, i, i+1)
		if err := m.Engine.(Registrar).Unregister(region); err != nil {
			errs = append(errs, fmt.Errorf("engine %s: %w", m.Name(), err))
		}
	}
	return errors.Join(errs...)
}
