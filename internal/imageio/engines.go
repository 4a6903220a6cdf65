// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/term"
)

// A Kind is a kind of engine for bulk work, other than the CPU, that this program was built with.
// Immutable.
type Kind struct {
	Name string // as "backend=" names it
	// Open returns the wanted engines of this kind for an algorithm. The error says why there are
	// none or, with some returned, why others cannot be used.
	Open func(codec.Algorithm, Options) ([]bulk.Engine, error)
	// does reports whether engines of this kind can do a task on an algorithm's objects; nil means
	// always.
	does func(codec.Algorithm, Task) bool
	// Least is the fewest pages for which engines are opened without being asked for.
	Least uint64
	// Check describes this kind's engines for doctor and reports whether all can be used. It may be
	// nil.
	Check func() (detail string, usable bool, err error)
}

// names returns the names that "backend=" accepts in an algorithm.
func names(kinds []Kind) (all []string) {
	for _, k := range kinds {
		all = append(all, k.Name)
	}
	return all
}

// ErrNoEngines is the error for an engine required of a program built without GPUs.
var ErrNoEngines = errors.New("this program was built without GPUs; make build-cuda makes one that has them")

// OpenEngines opens the engines of this machine for an algorithm; the caller closes them. If
// "backend=" names a kind, it opens that kind alone and fails without it; otherwise missing says
// why a kind has no engine. With Mode off it opens none, even a named one; with Required it fails
// without one. A kind that is useless for the task is opened only if it was asked for.
func OpenEngines(a codec.Algorithm, o Options) (engines []bulk.Engine, missing []string, err error) {
	if o.Mode == Off {
		return nil, nil, nil
	}
	asked, _ := a.Engine()
	why := []error{}
	for _, k := range o.Kinds {
		if asked != "" && k.Name != asked {
			continue
		}
		if why := k.useless(a, o); why != "" && asked == "" && o.Mode == Auto {
			missing = append(missing, k.Name+": "+why)
			continue
		}
		some, err := k.Open(a, o)
		if asked != "" && len(some) == 0 {
			return nil, nil, fmt.Errorf("open engine %s: %w", k.Name, err)
		}
		engines = append(engines, some...)
		if err != nil {
			missing, why = append(missing, k.Name+": "+term.OneLine(err.Error())), append(why, err)
		}
	}
	if asked != "" && len(engines) == 0 {
		return nil, nil, fmt.Errorf("open engine %s: %w", asked, codec.ErrNoEngine)
	}
	if o.Mode == Require && len(engines) == 0 {
		if len(why) == 0 {
			why = append(why, ErrNoEngines)
		}
		return nil, nil, fmt.Errorf("a GPU is required: %w", errors.Join(why...))
	}
	return engines, missing, nil
}

// useless returns the known reason why engines of this kind are of no use, or "".
func (k Kind) useless(a codec.Algorithm, o Options) string {
	switch {
	case k.does != nil && !k.does(a, o.Task):
		return fmt.Sprintf("of no use for %s", a)
	case o.Pages > 0 && o.Pages < k.Least:
		return fmt.Sprintf("%s are too few to open one, less than %d", term.Plural(int(o.Pages), "page", "pages"), k.Least)
	}
	return ""
}

// NewPlanner returns a planner over a number of CPU workers and the engines. On error it has closed
// all engines.
func NewPlanner(a codec.Algorithm, workers int, engines []bulk.Engine, items int) (*bulk.Planner, error) {
	cpu, err := bulk.NewCPU(a, workers)
	if err == nil {
		_, piece := a.Engine()
		var p *bulk.Planner
		if p, err = bulk.NewPlanner(cpu, engines, bulk.Config{Items: items, Piece: piece}); err == nil {
			return p, nil
		}
	}
	errs := []error{err}
	for _, e := range engines {
		errs = append(errs, e.Close())
	}
	return nil, errors.Join(errs...)
}
