// SPDX-License-Identifier: Apache-2.0

// Package bench measures the codecs on this machine, page by page on one thread. The command bench
// prints the report.
//
// It also measures a plain copy of the same pages, memcpy, to compare machines by, and checks that
// pages come back as they were. Variants take turns in short rounds, and speeds are medians of
// rounds, so that a change of the CPU's frequency meets all variants.
package bench

import (
	"io"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// Options say what to measure and for how long.
type Options struct {
	Algorithms []codec.Algorithm // in addition to the plain copy
	Length     time.Duration     // of all measurements together; one round is always completed
	Progress   io.Writer         // shows progress where it is a terminal
}

const (
	// SamplePages is the largest useful sample in pages: 64 MiB, more than any cache of one core.
	SamplePages = 16384

	pageSize = 4096
)

const (
	rawName  = "raw"    // the algorithm that stores pages as they are
	copyName = "memcpy" // its name in reports
)

// isDefault reports whether name is the algorithm that a device uses by default.
func isDefault(name string) bool { return name == codec.Algorithms()[0] }
