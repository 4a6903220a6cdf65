// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
)

// An engineKind is a kind of engine for bulk work, beside the CPU, that this program was built
// with. Immutable.
type engineKind struct {
	name string // as "backend=" names it
	// open returns those of this machine for an algorithm that are wanted. The error says why there is
	// none, or, if there are some, why others that are there cannot be used.
	open func(codec.Algorithm, engineOptions) ([]bulk.Engine, error)
	// does says whether they are of use for a task with objects of an algorithm; nil is always.
	does func(codec.Algorithm, task) bool
	// check says for doctor what there is of them, if it is not nil.
	check func() (finding, error)
}

// engineKinds holds them. Changed by init functions alone, of files with a build tag: the default
// program has none.
var engineKinds []engineKind

// offerEngine adds a kind of engine. It is to be called by init functions alone.
func offerEngine(k engineKind) {
	engineKinds = append(engineKinds, k)
}

// engineNames are the engines that an algorithm may ask for.
func engineNames() (names []string) {
	for _, k := range engineKinds {
		names = append(names, k.name)
	}
	return names
}

// errNoEngines is why nothing can be required of the default program.
var errNoEngines = errors.New("this program was built without GPUs; make build-cuda makes one that has them")

// openEngines opens the engines of this machine for an algorithm, which its caller has to close.
// Where "backend=" names a kind, it is that one alone and it has to be there; otherwise missing
// says of each kind that is not why that is so. Nothing is opened where engines are off, whatever
// is named, and where they are required one has to be there. One that nobody has asked for is not
// opened in vain.
func openEngines(a codec.Algorithm, o engineOptions) (engines []bulk.Engine, missing []string, err error) {
	if o.mode == gpuOff {
		return nil, nil, nil
	}
	asked, _ := a.Engine()
	why := []error{}
	for _, k := range engineKinds {
		if asked != "" && k.name != asked {
			continue
		}
		if why := k.vain(a, o); why != "" && asked == "" && o.mode == gpuAuto {
			missing = append(missing, k.name+": "+why)
			continue
		}
		some, err := k.open(a, o)
		if asked != "" && len(some) == 0 {
			return nil, nil, fmt.Errorf("open engine %s: %w", k.name, err)
		}
		engines = append(engines, some...)
		if err != nil {
			missing, why = append(missing, k.name+": "+term.OneLine(err.Error())), append(why, err)
		}
	}
	if asked != "" && len(engines) == 0 {
		return nil, nil, fmt.Errorf("open engine %s: %w", asked, codec.ErrNoEngine)
	}
	if o.mode == gpuRequire && len(engines) == 0 {
		if len(why) == 0 {
			why = append(why, errNoEngines)
		}
		return nil, nil, fmt.Errorf("a GPU is required: %w", errors.Join(why...))
	}
	return engines, missing, nil
}

// vain says why a kind is of no use, if that is known beforehand.
func (k engineKind) vain(a codec.Algorithm, o engineOptions) string {
	switch {
	case k.does != nil && !k.does(a, o.task):
		return fmt.Sprintf("it is of no use for %s", a)
	case o.pages > 0 && o.pages < fewPages:
		return fmt.Sprintf("%s are too few to open one, less than %d", term.Plural(int(o.pages), "page", "pages"), fewPages)
	}
	return ""
}

// newPlanner makes a planner over so many workers and other engines, all of which it has closed if
// there is an error.
func newPlanner(a codec.Algorithm, workers int, engines []bulk.Engine, items int) (*bulk.Planner, error) {
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
