// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
)

// The kinds of faults. A Fault wraps one, so that errors.Is finds it.
var (
	ErrOutOfBounds      = errors.New("outside of the memory")
	ErrMisaligned       = errors.New("misaligned address")
	ErrUninitialised    = errors.New("read of uninitialised memory")
	ErrUseAfterFree     = errors.New("use after free")
	ErrReadOnly         = errors.New("write to read-only memory")
	ErrRace             = errors.New("race")
	ErrPartialMask      = errors.New("not every lane of the mask takes part")
	ErrDivergentBarrier = errors.New("block barrier under divergence")
	ErrDivergentExit    = errors.New("lanes that have exited are waited for")
	ErrDeadlock         = errors.New("warps wait for each other")
	ErrStepLimit        = errors.New("step limit reached")
	ErrDivisionByZero   = errors.New("division by zero")
	ErrNotUniform       = errors.New("lanes differ where the kernel says that they cannot")
	ErrUndefined        = errors.New("use of an undefined register")
)

// Errors of launches and of the host's calls.
var (
	ErrBadLaunch   = errors.New("launch refused")
	ErrBadKernel   = errors.New("kernel refused")
	ErrOutOfMemory = errors.New("out of device memory")
)

// Fault is an error of a lane: its kernel, instruction and place. Launch returns it; if several
// blocks fault, that of the block begun first.
type Fault struct {
	Kind   error // one of the Err variables
	Kernel string
	Source string // file:line of the builder's call
	Op     string // the instruction as PTX
	Block  int
	Warp   int
	Lane   int
	Detail string // the memory and the other party, like "compressed[1024]+12"
}

// Error returns all of it in one line.
func (f *Fault) Error() string {
	s := fmt.Sprintf("%s: %s: %v: %s (block %d, warp %d, lane %d)", f.Kernel, f.Source, f.Kind, f.Op, f.Block, f.Warp, f.Lane)
	if f.Detail != "" {
		s += ": " + f.Detail
	}
	return s
}

// Unwrap returns the kind.
func (f *Fault) Unwrap() error { return f.Kind }
