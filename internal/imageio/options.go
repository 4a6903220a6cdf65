// SPDX-License-Identifier: Apache-2.0

package imageio

// The modes: use engines if there are any, use none, or fail without one.
const (
	Auto    = "auto"
	Off     = "off"
	Require = "require"
)

// Modes are the values of Options.Mode.
var Modes = []string{Auto, Off, Require}

// The bounds of Options.Batch and Options.Slots, as in package gpu, and the Device that means all.
const (
	MaxBatch   = 1 << 17
	MaxSlots   = 64
	AllDevices = -1
)

// Options say which engines to use with the CPU, and how. The zero value is not valid: Mode is
// required.
type Options struct {
	Mode         string                 // one of Modes
	Device       int                    // its number, or AllDevices
	Batch, Slots int                    // pages of a piece, and pieces at a time; 0 is the engine's own
	Task         Task                   // the work
	Pages        uint64                 // of the work; 0 if unknown
	Kinds        []Kind                 // of engines other than the CPU
	Room         func() (uint64, error) // returns the bytes of memory that this process may still take
}

// A Task is a kind of bulk work. An engine may be able to do only some.
type Task uint8

// The tasks.
const (
	AnyTask   Task = iota
	Packing        // compressing pages to objects
	Unpacking      // reading objects
)

// fewPages is the work, 1 GiB in pages, below which a GPU is opened only if asked for: opening
// takes longer than the cores take for the work.
const fewPages = 1 << 18
