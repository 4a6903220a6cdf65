// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"fmt"

	"zramfs/gpu/driver"
)

// A Mode says whether a GPU is wanted.
type Mode uint8

// The modes.
const (
	Auto    Mode = iota // where there is one
	Off                 // never
	Require             // or the work is not done
)

var modeNames = [...]string{"auto", "off", "require"}

// String is the mode's name.
func (m Mode) String() string { return modeNames[min(m, Require)] }

// ParseMode reads a mode's name.
func ParseMode(name string) (Mode, error) {
	for i, n := range modeNames {
		if n == name {
			return Mode(i), nil
		}
	}
	return Auto, fmt.Errorf("%w: %q is none of auto, off and require", driver.ErrArgument, name)
}

// A Choice is what came of looking for a GPU: an engine, or why there is none.
type Choice struct {
	Engine *Engine
	Why    error // nil if there is an engine, or none was wanted

	driver *driver.Driver
}

// Choose looks for a GPU as the mode says, by a function like [driver.CUDA]. That there is none is an error only if one is required.
func Choose(m Mode, find func() (*driver.Driver, error), o Options) (Choice, error) {
	if m == Off {
		return Choice{}, nil
	}
	d, err := find()
	if err != nil {
		return without(m, err)
	}
	e, err := Open(d, o)
	if err != nil {
		return without(m, errors.Join(err, d.Close()))
	}
	return Choice{Engine: e, driver: d}, nil
}

func without(m Mode, err error) (Choice, error) {
	if m == Require {
		return Choice{}, fmt.Errorf("a GPU is required: %w", err)
	}
	return Choice{Why: err}, nil
}

// Close closes the driver, after the engine, which belongs to whoever uses it, as [bulk.Planner] does.
func (c Choice) Close() error {
	if c.driver == nil {
		return nil
	}
	return c.driver.Close()
}
