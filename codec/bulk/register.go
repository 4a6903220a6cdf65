// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"errors"
	"fmt"
	"slices"
)

// Register registers memory with every engine that is a [Registrar], for the objects or pages of
// later batches; with write engines may write pages there. The memory has to be a mapping, not Go's
// heap, begin at a multiple of a page, and stay where it is until [Planner.Unregister] or
// [Planner.Close]. Regions must not overlap. After an error an engine works without the region.
// Register waits for the current batch.
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

// Unregister undoes Register for the engines that have the region, including dead ones. It waits
// for the current batch. The memory may be unmapped afterwards, even after an error, unless a batch
// ended with [ErrTorn]: then it must stay mapped to the end of the program.
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
