// SPDX-License-Identifier: Apache-2.0

package imaging

import (
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
)

// A Kind is a kind of engine for bulk work, beside the CPU, that this program was built
// with. Immutable.
type Kind struct {
	Name string // as "backend=" names it
	// Open returns those of this machine for an algorithm that are wanted. The error says why there is
	// none, or, if there are some, why others that are there cannot be used.
	Open func(codec.Algorithm, Options) ([]bulk.Engine, error)
	// does says whether they are of use for a task with objects of an algorithm; nil is always.
	does func(codec.Algorithm, Task) bool
	// Least is the fewest pages for which they are opened unless they are asked for.
	Least uint64
	// Check describes for doctor what there is of them, and says whether all of it can be used; it may
	// be nil.
	Check func() (detail string, usable bool, err error)
}

// names are the engines that an algorithm may ask for by "backend=".
func names(kinds []Kind) (all []string) {
	for _, k := range kinds {
		all = append(all, k.Name)
	}
	return all
}

// ErrNoEngines is why nothing can be required of the default program.
var ErrNoEngines = errors.New("this program was built without GPUs; make build-cuda makes one that has them")

// OpenEngines opens the engines of this machine for an algorithm, which its caller has to close.
// Where "backend=" names a kind, it is that one alone and it has to be there; otherwise missing
// says of each kind that is not why that is so. Nothing is opened where engines are off, whatever
// is named, and where they are required one has to be there. One that was not asked for is not
// opened in vain.
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

// vain says why a kind is of no use, if that is known beforehand.
func (k Kind) useless(a codec.Algorithm, o Options) string {
	switch {
	case k.does != nil && !k.does(a, o.Task):
		return fmt.Sprintf("it is of no use for %s", a)
	case o.Pages > 0 && o.Pages < k.Least:
		return fmt.Sprintf("%s are too few to open one, less than %d", term.Plural(int(o.Pages), "page", "pages"), k.Least)
	}
	return ""
}

// NewPlanner makes a planner over so many workers of the CPU and other engines. After an error it has
// closed all engines.
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
