// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/term"
)

// lz4Name is the algorithm of the objects that engines can make.
const lz4Name = "lz4"

// engineSets are the engines of a bulkRun. All algorithms share them, since opening an engine takes
// memory of the machine and of its device, and measures it. They are for one goroutine.
type engineSets struct {
	sets []engineSet

	missing []string      // kinds without an engine, with the reasons
	trouble []string      // errors that do not end the work
	failed  []engineFault // engines with failed pieces
}

// An engineFault counts the failed pieces of an engine.
type engineFault struct {
	name   string
	pieces int
	last   error
}

// An engineSet is the engines of the kind that "backend=" names, or of all kinds.
type engineSet struct {
	kind    string
	engines []bulk.Engine
}

// openEngines opens the engines that algorithms ask for.
func openEngines(algorithms []codec.Algorithm, o imageio.Options) (*engineSets, error) {
	e := &engineSets{}
	for _, a := range algorithms {
		kind, _ := a.Engine()
		if a.String() == rawName || e.set(kind) != nil {
			continue
		}
		maker, err := lz4Of(algorithms, kind)
		if err != nil {
			return nil, errors.Join(err, e.close())
		}
		engines, missing, err := imageio.OpenEngines(maker, o)
		if err != nil {
			return nil, errors.Join(err, e.close())
		}
		e.sets = append(e.sets, engineSet{kind, engines})
		e.missing = append(e.missing, missing...)
	}
	return e, nil
}

// lz4Of returns the algorithm to open engines of a kind for: the first that makes LZ4 objects and
// asks for that kind, or else LZ4 itself.
func lz4Of(algorithms []codec.Algorithm, kind string) (codec.Algorithm, error) {
	for _, a := range algorithms {
		if asked, _ := a.Engine(); asked == kind && makesLZ4(a) {
			return a, nil
		}
	}
	return codec.Parse(lz4Name)
}

func makesLZ4(a codec.Algorithm) bool {
	name, _, _ := strings.Cut(a.String(), ":")
	return name == lz4Name
}

func (e *engineSets) set(kind string) *engineSet {
	if i := slices.IndexFunc(e.sets, func(s engineSet) bool { return s.kind == kind }); i >= 0 {
		return &e.sets[i]
	}
	return nil
}

// all returns one engine of each name.
func (e *engineSets) all() (all []bulk.Engine) {
	for _, s := range e.sets {
		for _, engine := range s.engines {
			if !slices.ContainsFunc(all, func(o bulk.Engine) bool { return o.Name() == engine.Name() }) {
				all = append(all, engine)
			}
		}
	}
	return all
}

// A lentEngine is an engine for the planner of one algorithm, whose Close leaves it open.
type lentEngine struct {
	bulk.Engine
	compress bool // the engine makes objects of the algorithm
}

func (l lentEngine) Can(op bulk.Op, id codec.ID) bool {
	return (op != bulk.Compress || l.compress) && l.Engine.Can(op, id)
}

func (l lentEngine) Close() error { return nil }

// lend returns the engines for an algorithm. Only one borrower may run a batch at a time.
func (e *engineSets) lend(a codec.Algorithm) (engines []bulk.Engine) {
	kind, _ := a.Engine()
	if s := e.set(kind); s != nil && a.String() != rawName {
		for _, engine := range s.engines {
			engines = append(engines, lentEngine{engine, makesLZ4(a)})
		}
	}
	return engines
}

// register registers the memory of batches with the engines that can use that. An engine that
// refuses works without registered memory.
func (e *engineSets) register(read, written [][]byte) {
	for _, engine := range e.all() {
		registrar, ok := engine.(bulk.Registrar)
		if !ok {
			continue
		}
		for i, region := range slices.Concat(read, written) {
			if err := registrar.Register(region, i >= len(read)); err != nil {
				e.trouble = append(e.trouble, engine.Name()+": "+term.OneLine(err.Error()))
			}
		}
	}
}

// note adds the failures of a batch.
func (e *engineSets) note(r *bulk.Report) {
	for _, part := range r.Engines {
		if part.Failures == 0 {
			continue
		}
		i := slices.IndexFunc(e.failed, func(f engineFault) bool { return f.name == part.Name })
		if i < 0 {
			i = len(e.failed)
			e.failed = append(e.failed, engineFault{name: part.Name})
		}
		e.failed[i].pieces += part.Failures
		e.failed[i].last = part.Err
	}
}

// faults returns a line for each engine with failed pieces.
func (e *engineSets) faults() (all []string) {
	for _, f := range e.failed {
		all = append(all, fmt.Sprintf("%s: %s failed, the last one by %s", f.name, term.Plural(f.pieces, "piece", "pieces"), term.OneLine(f.last.Error())))
	}
	return all
}

// close closes the engines, which ends the registration of memory.
func (e *engineSets) close() error {
	var errs []error
	for _, s := range e.sets {
		for _, engine := range s.engines {
			if err := engine.Close(); err != nil {
				errs = append(errs, fmt.Errorf("close engine %s: %w", engine.Name(), err))
			}
		}
	}
	e.sets = nil
	return errors.Join(errs...)
}
