// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/imaging"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
)

// lz4Name is the algorithm whose objects engines make, if they make any.
const lz4Name = "lz4"

// benchEngines are the engines of a bulkRun: opened once, however many algorithms there are, since
// each takes memory, of its device too, and measures itself when it is opened. It is used by one
// goroutine.
type benchEngines struct {
	sets []engineSet

	missing []string      // kinds of engine that there is none of, and why
	trouble []string      // errors that the work goes on after
	failed  []engineFault // of those that any piece failed of
}

// An engineFault is what failed of an engine.
type engineFault struct {
	name   string
	pieces int
	last   error
}

// An engineSet is those of the kind that "backend=" asks for, or of all kinds.
type engineSet struct {
	kind    string
	engines []bulk.Engine
}

// openBenchEngines opens what algorithms ask for.
func openBenchEngines(algorithms []codec.Algorithm, o imaging.Options) (*benchEngines, error) {
	e := &benchEngines{}
	for _, a := range algorithms {
		kind, _ := a.Engine()
		if a.String() == rawName || e.set(kind) != nil {
			continue
		}
		maker, err := lz4Of(algorithms, kind)
		if err != nil {
			return nil, errors.Join(err, e.close())
		}
		engines, missing, err := imaging.OpenEngines(maker, o)
		if err != nil {
			return nil, errors.Join(err, e.close())
		}
		e.sets = append(e.sets, engineSet{kind, engines})
		e.missing = append(e.missing, missing...)
	}
	return e, nil
}

// lz4Of returns the algorithm that an engine of that kind is opened for: one that makes LZ4
// objects. What it makes is left unused where others are measured.
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

func (e *benchEngines) set(kind string) *engineSet {
	if i := slices.IndexFunc(e.sets, func(s engineSet) bool { return s.kind == kind }); i >= 0 {
		return &e.sets[i]
	}
	return nil
}

// all returns one engine of each name.
func (e *benchEngines) all() (all []bulk.Engine) {
	for _, s := range e.sets {
		for _, engine := range s.engines {
			if !slices.ContainsFunc(all, func(o bulk.Engine) bool { return o.Name() == engine.Name() }) {
				all = append(all, engine)
			}
		}
	}
	return all
}

// A lentEngine is an engine as the planner for one algorithm gets it, which does not own it.
type lentEngine struct {
	bulk.Engine
	compress bool // the objects that the engine makes are of the algorithm
}

func (l lentEngine) Can(op bulk.Op, id codec.ID) bool {
	return (op != bulk.Compress || l.compress) && l.Engine.Can(op, id)
}

func (l lentEngine) Close() error { return nil }

// lend returns the engines for an algorithm. Batches of two must not run at a time.
func (e *benchEngines) lend(a codec.Algorithm) (engines []bulk.Engine) {
	kind, _ := a.Engine()
	if s := e.set(kind); s != nil && a.String() != rawName {
		for _, engine := range s.engines {
			engines = append(engines, lentEngine{engine, makesLZ4(a)})
		}
	}
	return engines
}

// register tells the engines that want to know of the memory of batches; they write to the last. One that cannot have it goes on without.
func (e *benchEngines) register(read, written [][]byte) {
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

// note takes in what failed of a batch.
func (e *benchEngines) note(r *bulk.Report) {
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

// faults says it in a line for each.
func (e *benchEngines) faults() (all []string) {
	for _, f := range e.failed {
		all = append(all, fmt.Sprintf("%s: %s failed, the last one by %s", f.name, term.Plural(f.pieces, "piece", "pieces"), term.OneLine(f.last.Error())))
	}
	return all
}

// close closes the engines, which forget the memory that they were told of.
func (e *benchEngines) close() error {
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
