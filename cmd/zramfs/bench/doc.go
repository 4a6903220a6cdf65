// SPDX-License-Identifier: Apache-2.0

// Package bench measures the codecs on this machine: Codec page by page on one thread, Bulk in
// batches on all cores and on the other engines that package imaging opens. The command bench prints
// their reports.
//
// Both measure a plain copy of the same pages too, as memcpy, by which machines can be compared, and
// both check that pages come back as they were. Variants take turns in short rounds, and speeds are
// medians of rounds, so that a change of the CPU's frequency meets all of them.
package bench

import (
	"io"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// Options say what to measure and for how long.
type Options struct {
	Algorithms []codec.Algorithm // besides the plain copy
	Length     time.Duration     // of all measurements together; one round is always completed
	Progress   io.Writer         // shows progress where it is a terminal
}

const (
	// SamplePages is the most pages of a sample that are of use: 64 MiB, more than any cache of one
	// core. A batch for the CPU has as many.
	SamplePages = 16384
	// MaxBatch is the most pages of a batch: 16 GiB. Bulk takes three times as much memory.
	MaxBatch = 1 << 22

	pageSize = 4096
)

const (
	rawName  = "raw"    // the algorithm that stores pages as they are
	copyName = "memcpy" // its name in reports
)

// isDefault reports whether name is the algorithm that a device uses by default.
func isDefault(name string) bool { return name == codec.Algorithms()[0] }
